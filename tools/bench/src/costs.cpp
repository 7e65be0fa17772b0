#include "plain_farm.hpp"
#include "units.hpp"
#include <weir/base/figures.hpp>
#include <weir/base/role.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/costs.hpp>
#include <weir/bench/scale.hpp>
#include <weir/clock/clock.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace weir::bench {
namespace {

constexpr double kUsPerS = 1e6;

std::string farm_text(const run::MeasuredFarm& farm, double seconds, const std::string& folder) {
  return fmt::format(
      "farm: bench-costs\n"
      "run: {{out: '{}', duration_s: {}}}\n"
      "trigger: {{mode: max}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}}}\n"
      "dcm: {{count: 1}}\n"
      "filter: {{plugin: accept-all}}\n"
      "writer: {{count: {}}}\n",
      folder, seconds, farm.fragment_bytes, farm.fragment_bytes, farm.readouts, farm.sources,
      farm.stored ? 1 : 0);
}

std::string describe(const run::MeasuredFarm& farm) {
  return fmt::format("{} x {} x {} B{}", farm.readouts, farm.sources, farm.fragment_bytes,
                     farm.stored ? ", stored" : "");
}

}  // namespace

std::string machine_text() {
  std::ifstream file("/proc/cpuinfo");
  std::string processor = "unknown processor";
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == line.npos) continue;
    processor = line.substr(colon + 2);
    break;
  }
  return fmt::format("{}, {}, {}", processor, counted(usable_cores(), "core"),
                     utc_text(utc_now_ns()).substr(0, 10));
}

Expected<run::MeasuredFarm, std::string> measure_costs(const run::MeasuredFarm& farm, double seconds,
                                                       const std::string& folder) {
  const ScratchFolder scratch(folder);
  const std::string out = scratch.path().string();
  const auto ran = run_plain_farm(farm_text(farm, seconds, out), out);
  if (!ran) return Unexpected<std::string>(ran.error());
  const double duration_s = static_cast<double>(ran->account->duration_ns()) / kSecond;
  const run_record::Summary summary = run_record::summarize(*ran->account);
  const auto slices = static_cast<double>(summary.triggered);
  if (slices <= 0 || duration_s <= 0) return Unexpected<std::string>("no slice was built");
  run::MeasuredFarm measured = farm;
  for (const reports::NodeUse& loop : summary.loops) {
    const double us = loop.use.cpu * duration_s * kUsPerS / slices;
    if (loop.role == v1::ROLE_READOUT) measured.readout += us;
    if (loop.role == v1::ROLE_DCM) measured.dcm += us;
    if (loop.role == v1::ROLE_SUPERVISOR) measured.supervisor += us;
    if (loop.role == v1::ROLE_WRITER) measured.writer += us;
  }
  for (const run_record::ProcessRecord& process : ran->processes) {
    if (process.role == name(Role::writer)) measured.disk += process.end.cpu_s * kUsPerS / slices;
  }
  measured.disk = std::max(0.0, measured.disk - measured.writer);
  return measured;
}

Line line_of(const run::MeasuredFarm& farm, const std::string& machine) {
  return {{"bench", "costs"},
          {"readouts", farm.readouts},
          {"sources_per_readout", farm.sources},
          {"fragment_bytes", farm.fragment_bytes},
          {"stored", farm.stored},
          {"rounds", 1},
          {"readout_us", four_digits(farm.readout)},
          {"dcm_us", four_digits(farm.dcm)},
          {"supervisor_us", four_digits(farm.supervisor)},
          {"writer_us", four_digits(farm.writer)},
          {"disk_us", four_digits(farm.disk)},
          {"machine", machine},
          {"_label", describe(farm)}};
}

int run_costs(const CostsOptions& options, std::FILE* out, std::FILE* err) {
  const std::string folder =
      options.folder.empty() ? std::filesystem::current_path().string() : options.folder;
  if (!std::filesystem::is_directory(folder)) {
    fmt::print(err, "weir bench costs: {} is not a folder\n", folder);
    return 1;
  }
  Figure figure;
  figure.bench = "costs";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  figure.groups.emplace_back();
  for (const run::MeasuredFarm& farm : run::farms_to_measure()) {
    figure.groups.back().push_back(
        {describe(farm), [&options, folder, farm]() -> Expected<Lines, std::string> {
           const auto measured = measure_costs(farm, options.seconds, folder);
           if (!measured) return Unexpected<std::string>(measured.error());
           return Lines{line_of(*measured, machine_text())};
         }});
  }
  figure.sentence = [](const Line& line) {
    return fmt::format(
        "{}: {:.3g} us of the readouts, {:.3g} us of the DCM, {:.3g} us of the supervisor, {:.3g} + {:.3g} "
        "us of the writer",
        text_of(line, "_label"), number_of(line, "readout_us"), number_of(line, "dcm_us"),
        number_of(line, "supervisor_us"), number_of(line, "writer_us"), number_of(line, "disk_us"));
  };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench
