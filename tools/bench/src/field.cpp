// The field bench: measuring, and writing down.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/field.hpp>

#include <fmt/format.h>

#include <thread>

namespace weir::bench {
namespace {

Expected<NetworkRun, std::string> measure(const FieldPoint& point, const FieldOptions& options,
                                          const std::string& folder) {
  run::RunOptions run;
  run.farm.farm_file = folder + "/farm.yaml";
  run.lab_file = folder + "/lab.yaml";
  run.out = folder + "/out";
  run.log_level = "warning";
  run.quiet = true;
  if (!write(run.farm.farm_file, farm_text(point, options)) ||
      !write(run.lab_file, lab_text(point, options, std::thread::hardware_concurrency()))) {
    return Unexpected<std::string>("cannot write into " + folder);
  }
  return measure_farm(run);
}

// Measures the points of one case and load in turn. Returns false if a signal arrived.
bool measure_group(std::vector<FieldResult>& group, const FieldOptions& options, const std::string& folder,
                   std::FILE* err, bool& failed) {
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (FieldResult& result : group) {
      auto run = measure(result.point, options, folder);
      if (run) {
        result.runs.push_back(std::move(*run));
        continue;
      }
      failed = true;
      fmt::print(err, "weir bench: {}: {}\n", describe(result.point), run.error());
      if (run.error().starts_with("SIG")) return false;
    }
  }
  return true;
}

void tell(const FieldResult& result, const FieldOptions& options, std::FILE* out, std::FILE* err) {
  fmt::print(out, "{}\n", to_json_line(result, options));
  std::fflush(out);
  const FieldFigures figures = figures_of(result);
  fmt::print(
      err,
      "{}: {:.1f} % of theory, p99 {:.2f} x serialisation, {:.0f} dropped, {:.0f} after 1 s, CPU {:.2f}\n",
      describe(result.point), kPercent * figures.share_of_theory, figures.p99_over_serialisation,
      figures.drops, figures.drops_after_1s, figures.cpu_s_per_s);
}

int write_out(const std::vector<FieldResult>& results, const FieldOptions& options, std::FILE* err) {
  std::string lines;
  for (const FieldResult& result : results) lines += to_json_line(result, options) + "\n";
  return write_output(options.out, options.name, lines, page_of(results, options, machine()), err);
}

}  // namespace

int run_field(const FieldOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  const ScratchFolder folder;
  std::vector<FieldResult> results;
  bool failed = false;
  for (const auto& points : expand(options)) {
    std::vector<FieldResult> group;
    for (const FieldPoint& point : points) group.push_back({point, {}});
    const bool go_on = measure_group(group, options, folder.path().string(), err, failed);
    for (FieldResult& result : group) {
      if (result.runs.empty()) continue;
      tell(result, options, out, err);
      results.push_back(std::move(result));
    }
    if (!go_on) break;
  }
  const int written = options.out.empty() ? 0 : write_out(results, options, err);
  return failed ? 1 : written;
}

}  // namespace weir::bench
