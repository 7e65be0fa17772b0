// Requests and responses over a long line that idles in between.
#include "arrival_delays.hpp"
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/conditions.hpp>
#include <weir/bench/remote_idle.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kResponseBytes = 1'000'000;
constexpr std::uint32_t kIdleSilenceMs = 60'000;  // more than three pauses
constexpr std::uint32_t kTimesMax = 1000;

Expected<Lines, std::string> measure(const IdleCase& one, const IdleOptions& options) {
  const ScratchFolder folder;
  RunConditions conditions = conditions_now();
  sample_others(conditions);
  auto run = prepare_run(folder.path().string(), idle_farm(one, options), idle_lab(one, options));
  if (!run) return Unexpected<std::string>(run.error());
  run->duration_s = options.seconds;
  const auto summary = summary_of_lab_run(*run);
  if (!summary) return Unexpected<std::string>(summary.error());
  const Series times_ms = delays_of({read(run->out + "/run-000001-dcm-0-arrivals.csv")}, kTimesMax);
  if (times_ms.empty()) return Unexpected<std::string>("no response has arrived");
  sample_others(conditions);
  Line line = line_of(one, options, times_ms, summary->ledger_balanced);
  add_to(line, conditions);
  return Lines{std::move(line)};
}

constexpr double kSegmentBytes = 1448;  // of a full frame: TCP with time stamps
constexpr double kWireBytes = 1538;
constexpr double kBitsPerByte = 8;
// Eight round trips of 20 ms in the paper, and 1.3 times what its line of 800 Mb/s needs at least.
constexpr double kSlowRoundTrips = 8;
constexpr double kWithin = 1.3;

// Compares round trips, because the paper's line is twice as fast.
std::string statements(const Lines& lines, const IdleOptions& options, const RunConditions& conditions) {
  const double trip_ms = 2 * options.delay_ms;
  const double least = floor_ms(options) / trip_ms;
  std::string text =
      "\n## Statements of the paper\n\nA single run: whether its shape repeats is not known.\n\n" +
      verdict_table_head();
  for (const Line& line : lines) {
    const double paper_ms = number_of(line, "paper_ms");
    if (paper_ms <= 0) continue;
    const double trips = number_of(line, "median_ms") / trip_ms;
    const bool slow = is_set(line, "slow_start_after_idle");
    const bool met = slow ? trips >= kSlowRoundTrips / kWithin && trips <= kSlowRoundTrips * kWithin
                          : trips <= kWithin * least;
    text += verdict_row(
        !conditions.is_known() ? "no verdict: the load was not recorded"
        : conditions.is_busy() ? "no verdict: the machine was busy"
        : met                  ? "met"
                               : "not met",
        slow ? "III.A, Figure 4: 160 ms for 1 MB over 20 ms, eight round trips of slow start"
             : "III.A, Figure 5: 40 ms without slow start after idle, 1.3 times the 31 ms that 800 Mb/s need",
        slow ? fmt::format("{:g} round trips within a factor of {:g}", kSlowRoundTrips, kWithin)
             : fmt::format("at most {:.1f} round trips, {:g} times the least time", kWithin * least, kWithin),
        fmt::format("{:.1f} round trips", trips));
  }
  return text;
}

}  // namespace

const std::vector<IdleCase>& idle_cases() {
  static const std::vector<IdleCase> cases = {
      {"idle line", true, kIdleSilenceMs, 160},
      {"idle line, no slow start after idle", false, kIdleSilenceMs, 40},
      {"line kept busy by probes", true, 0, 0}};
  return cases;
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

Line line_of(const IdleCase& one, const IdleOptions& options,
             const std::vector<std::pair<double, double>>& times_ms, bool balanced) {
  json::array points;
  std::vector<double> times;
  for (const auto& [slice, ms] : times_ms) {
    points.push_back(json::array{slice, hundredths(ms)});
    times.push_back(ms);
  }
  const double max_ms = times.empty() ? 0 : std::ranges::max(times);
  return {{"bench", "remote-idle"},
          {"label", one.label},
          {"slow_start_after_idle", one.restarts_slowly},
          {"silence_ms", one.silence_ms},
          {"pause_s", options.pause_s},
          {"line_mbit", options.line_mbit},
          {"delay_ms", options.delay_ms},
          {"response_bytes", kResponseBytes},
          {"median_ms", hundredths(median(std::move(times)))},
          {"max_ms", hundredths(max_ms)},
          {"paper_ms", one.paper_ms},
          {"times_ms", std::move(points)},
          {"balanced", balanced},
          {"_responses", times_ms.size()}};
}

double floor_ms(const IdleOptions& options) {
  const double frames = std::ceil(kResponseBytes / kSegmentBytes);
  return 2 * options.delay_ms +
         frames * kWireBytes * kBitsPerByte / (options.line_mbit * kBitPerMbit) * kMsPerS;
}

std::string idle_page(const Lines& lines, const IdleOptions& options, const RunConditions& conditions) {
  return page_head("Requests over a line that idles, figures 4 and 5", options.output,
                   fmt::format("A readout answers a request with 1 MB over a line of {:g} Mb/s with {:g} ms "
                               "there and back, every {:g} s. At least it takes {:.1f} ms: a round trip, and "
                               "{:.1f} ms for its frames with all headers.\n\n{}",
                               options.line_mbit, 2 * options.delay_ms, options.pause_s, floor_ms(options),
                               floor_ms(options) - 2 * options.delay_ms, text_of(conditions))) +
         table_of(lines,
                  {text_column("run", "label"), paper_column("paper, ms", "paper_ms"),
                   number_column("median, ms", "median_ms", 1), number_column("longest, ms", "max_ms", 1),
                   number_column("responses", "_responses", 0)}) +
         statements(lines, options, conditions) +
         "\nThe paper (figures 4 and 5): 1 MB takes 160 ms when TCP reduces its congestion window in each "
         "pause, eight "
         "round "
         "trips of slow start, and 40 ms when it does not.\n\n"
         "Difference: the line here has less than the paper's, which carried up to 800 Mb/s. Today's kernels "
         "halve "
         "the window once per timeout (220 ms) of a pause, so the pauses are 3 s instead of 80 ms; the paper "
         "does "
         "not say how its kernel reduced the window in 80 ms. With the default "
         "`network.silence_ms` a DCM probes a silent readout nine times a second, so the line never idles.\n";
}

int run_remote_idle(const IdleOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "remote";
  figure.needs_lab = true;
  figure.needs_all = true;
  for (const IdleCase& one : idle_cases())
    figure.groups.push_back({{one.label, [&] { return measure(one, options); }}});
  figure.sentence = [](const Line& line) {
    return fmt::format("{:<36} {} responses, median {:.1f} ms, longest {:.1f} ms", text_of(line, "label"),
                       number_of(line, "_responses"), number_of(line, "median_ms"),
                       number_of(line, "max_ms"));
  };
  figure.is_good = [](const Line& line) { return is_set(line, "balanced"); };
  figure.page = [&](const Lines& lines) { return idle_page(lines, options, conditions_of(lines)); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
