// A sweep over farms in virtual networks: measuring, and writing down.
#include "lab_farm.hpp"
#include "output.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/network.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run/lab_network.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <thread>

namespace weir::bench {
namespace {

// The theoretical rate of a point; an error if its farm or lab is invalid.
Expected<double, std::string> theory_of_point(const NetworkPoint& point, const std::string& farm_path,
                                              const std::string& lab_path) {
  const auto farm = config::load_farm(farm_path);
  if (!farm) return Unexpected<std::string>(config::to_text(farm.error()));
  const auto plan = config::expand(farm->farm, farm->locations);
  if (!plan) return Unexpected<std::string>(config::to_text(plan.error()));
  const auto lab_file = config::load_lab(lab_path);
  if (!lab_file) return Unexpected<std::string>(config::to_text(lab_file.error()));
  const auto lab = lab::plan_lab(*lab_file, &*plan);
  if (!lab) return Unexpected<std::string>(config::to_text(lab.error()));
  const double fragments = static_cast<double>(point.readouts) * point.fragments;
  const run_record::SliceLoad load{fragments * point.fragment_bytes, fragments};
  return run_record::theory_of(run::network_of(*lab, *plan), load).goodput_bytes_per_s;
}

int write_out(const std::vector<NetworkResult>& results, const NetworkOptions& options, std::FILE* err) {
  std::string lines;
  for (const NetworkResult& result : results) lines += to_json_line(result, options) + "\n";
  return write_output(options.out, options.name, lines, table_of(results, options, machine()), err);
}

}  // namespace

Expected<NetworkRun, std::string> measure(const NetworkPoint& point, const NetworkOptions& options,
                                          const std::string& folder) {
  const std::string farm_path = folder + "/farm.yaml";
  const std::string lab_path = folder + "/lab.yaml";
  if (!write(farm_path, farm_text(point, options, 0)) || !write(lab_path, lab_text(point, options)))
    return Unexpected<std::string>("cannot write into " + folder);
  const auto theory = theory_of_point(point, farm_path, lab_path);
  if (!theory) return Unexpected<std::string>(theory.error());
  if (point.load > 0) {
    const double slice_bytes = static_cast<double>(point.readouts) * point.fragments * point.fragment_bytes;
    if (!write(farm_path, farm_text(point, options, point.load * *theory / slice_bytes)))
      return Unexpected<std::string>("cannot write into " + folder);
  }
  run::RunOptions run;
  run.farm.farm_file = farm_path;
  run.lab_file = lab_path;
  run.out = folder + "/out";
  run.log_level = "warning";
  run.quiet = true;
  auto figures = measure_farm(run);
  if (!figures) return figures;
  if (options.trace > 0) figures->arrivals = read(run.out + "/run-000001-dcm-0-arrivals.csv");
  return figures;
}

Expected<NetworkResult, std::string> measure_rounds(const NetworkPoint& point, const NetworkOptions& options,
                                                    const std::string& folder) {
  NetworkResult result{point, {}};
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    auto run = measure(point, options, folder);
    if (!run) return Unexpected<std::string>(run.error());
    result.runs.push_back(std::move(*run));
  }
  return result;
}

int run_network(const NetworkOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  const ScratchFolder folder;
  std::vector<NetworkResult> results;
  bool failed = false;
  for (const NetworkPoint& point : expand(options)) {
    auto measured = measure_rounds(point, options, folder.path().string());
    if (!measured) {
      // A sweep takes long: an error skips its point, a signal the remaining ones.
      failed = true;
      fmt::print(err, "weir bench: {}: {}\n", describe(point), measured.error());
      if (measured.error().starts_with("SIG")) break;
      continue;
    }
    const NetworkResult& result = results.emplace_back(std::move(*measured));
    fmt::print(out, "{}\n", to_json_line(result, options));
    std::fflush(out);
    const NetworkRun run = result.medians();
    fmt::print(err, "{}: {:.1f} % of theory, p99 {:.1f} ms, {:.0f} retransmissions/s, CPU {:.2f} of {}\n",
               describe(point), 100 * run.after_1s.share_of_theory, run.after_1s.p99_us / 1000,
               run.after_1s.retransmits_per_s, run.machine_cpu_s_per_s, std::thread::hardware_concurrency());
  }
  const int written = options.out.empty() ? 0 : write_out(results, options, err);
  return failed ? 1 : written;
}

}  // namespace weir::bench
