// Requests and responses over a long line that idles in between.
#include "arrival_delays.hpp"
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/remote_idle.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kResponseBytes = 1'000'000;
constexpr std::uint32_t kIdleSilenceMs = 60'000;  // more than three pauses
constexpr std::uint32_t kTimesMax = 1000;

Expected<IdleResult, std::string> measure(const IdleCase& one, const IdleOptions& options) {
  const ScratchFolder folder;
  run::RunOptions run;
  run.farm.farm_file = (folder.path() / "farm.yaml").string();
  run.lab_file = (folder.path() / "lab.yaml").string();
  if (!write(run.farm.farm_file, idle_farm(one, options)) || !write(run.lab_file, idle_lab(one, options)))
    return Unexpected<std::string>("cannot write into " + folder.path().string());
  run.duration_s = options.seconds;
  run.out = (folder.path() / "out").string();
  run.log_level = "error";
  run.quiet = true;
  const auto summary = summary_of_lab_run(run);
  if (!summary) return Unexpected<std::string>(summary.error());
  IdleResult result;
  result.run = one;
  result.times_ms = delays_of({read(run.out + "/run-000001-dcm-0-arrivals.csv")}, kTimesMax);
  result.balanced = summary->ledger_balanced;
  if (result.times_ms.empty()) return Unexpected<std::string>("no response has arrived");
  return result;
}

}  // namespace

const std::vector<IdleCase>& idle_cases() {
  static const std::vector<IdleCase> cases = {
      {"idle line", true, kIdleSilenceMs, 160},
      {"idle line, no slow start after idle", false, kIdleSilenceMs, 40},
      {"line kept busy by probes", true, 0, 0}};
  return cases;
}

double IdleResult::median_ms() const {
  std::vector<double> times;
  for (const auto& [slice, ms] : times_ms) times.push_back(ms);
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double IdleResult::max_ms() const {
  double most = 0;
  for (const auto& [slice, ms] : times_ms) most = std::max(most, ms);
  return most;
}

std::string idle_farm(const IdleCase& one, const IdleOptions& options) {
  return fmt::format(
      "farm: bench-remote-idle\n"
      "trigger: {{mode: rate, rate_hz: {}, first_slice: 1}}\n"  // prescale accepts slice 0
      "source: {{kind: dummy, size_bytes: {}}}\n"
      "readout: {{count: 1, sources_per_readout: 1}}\n"
      "network: {{congestion_control: cubic, silence_ms: {}}}\n"
      "dcm: {{count: 1, shaper: none, trace_slices: {}}}\n"
      "filter: {{plugin: prescale, parameters: {{n: 1000000000}}}}\n"
      "writer: {{count: 0}}\n",
      1 / options.pause_s, kResponseBytes, one.silence_ms, kTimesMax);
}

std::string idle_lab(const IdleCase& one, const IdleOptions& options) {
  return fmt::format(
      "lab: bench-remote-idle\n"
      "topology: wan\n"
      "port_rate: 1gbit\n"
      "port_buffer: 2m\n"
      "slow_start_after_idle: {}\n"
      "hosts:\n"
      "  - {{name: home, nodes: [readout-0], attached: 1}}\n"
      "  - {{name: far, nodes: [dcm-0], attached: 2}}\n"
      "wan: {{rate: {:g}mbit, buffer: 4m, delay_ms: {:g}}}\n",
      one.restarts_slowly, options.line_mbit, options.delay_ms);
}

std::string idle_lines(const std::vector<IdleResult>& results, const IdleOptions& options) {
  std::string lines;
  for (const IdleResult& result : results) {
    json::array times;
    for (const auto& [slice, ms] : result.times_ms) times.push_back(json::array{slice, hundredths(ms)});
    lines += json::serialize(json::object{{"bench", "remote-idle"},
                                          {"label", result.run.label},
                                          {"slow_start_after_idle", result.run.restarts_slowly},
                                          {"silence_ms", result.run.silence_ms},
                                          {"pause_s", options.pause_s},
                                          {"line_mbit", options.line_mbit},
                                          {"delay_ms", options.delay_ms},
                                          {"response_bytes", kResponseBytes},
                                          {"median_ms", hundredths(result.median_ms())},
                                          {"max_ms", hundredths(result.max_ms())},
                                          {"paper_ms", result.run.paper_ms},
                                          {"times_ms", std::move(times)},
                                          {"balanced", result.balanced}}) +
             "\n";
  }
  return lines;
}

std::string idle_table(const std::vector<IdleResult>& results, const IdleOptions& options,
                       const std::string& machine) {
  std::string text = fmt::format(
      "# Requests over a line that idles, figures 4 and 5\n\n```sh\n{}\n```\nA readout answers a request "
      "with 1 MB "
      "over a "
      "line of {:g} Mb/s with {:g} ms there and back, every {:g} s. On {}.\n\n"
      "| run | paper, ms | median, ms | longest, ms | responses |\n| --- | --- | --- | --- | --- |\n",
      options.command, options.line_mbit, 2 * options.delay_ms, options.pause_s, machine);
  for (const IdleResult& result : results)
    fmt::format_to(std::back_inserter(text), "| {} | {} | {:.1f} | {:.1f} | {} |\n", result.run.label,
                   result.run.paper_ms > 0 ? fmt::format("{:g}", result.run.paper_ms) : "-",
                   result.median_ms(), result.max_ms(), result.times_ms.size());
  text +=
      "\nThe paper (figures 4 and 5): 1 MB takes 160 ms when TCP reduces its congestion window in each "
      "pause, eight "
      "round "
      "trips of slow start, and 40 ms when it does not.\n\n"
      "Difference: the line here has less than the paper's 1 Gb/s, and today's kernels halve the window once "
      "per "
      "timeout "
      "(220 ms) of a pause instead of resetting it, so the pauses are 3 s instead of 80 ms. With the default "
      "`network.silence_ms` a DCM probes a silent readout nine times a second, so the line never idles.\n";
  return text;
}

int run_remote_idle(const IdleOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  std::vector<IdleResult> results;
  bool good = true;
  for (const IdleCase& one : idle_cases()) {
    auto result = measure(one, options);
    if (!result) {
      fmt::print(err, "weir bench remote: {}: {}\n", one.label, result.error());
      return 1;
    }
    good = good && result->balanced;
    fmt::print(err, "{:<36} {} responses, median {:.1f} ms, longest {:.1f} ms\n", one.label,
               result->times_ms.size(), result->median_ms(), result->max_ms());
    results.push_back(std::move(*result));
  }
  const std::string lines = idle_lines(results, options);
  fmt::print(out, "{}", lines);
  const std::string table = idle_table(results, options, machine());
  if (options.out.empty()) {
    fmt::print(err, "\n{}", table);
  } else if (const int written = write_output(options.out, options.name, lines, table, err); written != 0) {
    return written;
  }
  return good ? 0 : 1;
}

}  // namespace weir::bench
