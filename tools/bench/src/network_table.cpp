// The table of a sweep.
#include "units.hpp"
#include <weir/bench/network.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace weir::bench {
namespace {

std::string window_text(const NetworkPoint& point) {
  if (point.window_fragments > 0)
    return fmt::format("{} fragment{}", point.window_fragments, point.window_fragments == 1 ? "" : "s");
  return point.window_bytes > 0
             ? fmt::format("{:g} kB", static_cast<double>(point.window_bytes) / kBytesPerKb)
             : "";
}

std::string load_text(const NetworkPoint& point) {
  return point.load > 0 ? fmt::format("{:g} % offered", kPercent * point.load) : "";
}

std::string segments_text(const NetworkPoint& point) {
  return point.window_segments > 0 ? fmt::format("congestion window fixed at {}", point.window_segments) : "";
}

// A setting of a point, in words; empty: not applicable.
using Setting = std::string (*)(const NetworkPoint&);
constexpr std::array<Setting, 8> kSettings = {
    [](const NetworkPoint& point) { return point.shaper; },
    window_text,
    load_text,
    [](const NetworkPoint& point) { return fmt::format("{} readouts", point.readouts); },
    [](const NetworkPoint& point) { return fmt::format("fragments of {} B", point.fragment_bytes); },
    [](const NetworkPoint& point) { return fmt::format("{} a readout", point.fragments); },
    segments_text,
    [](const NetworkPoint& point) { return point.congestion; },
};

bool differs(Setting setting, const std::vector<NetworkResult>& results) {
  return std::any_of(results.begin(), results.end(), [&](const NetworkResult& result) {
    return setting(result.point) != setting(results.front().point);
  });
}

// Returns the settings that distinguish the point from the others: "byte-credits, 36 kB, bbr".
std::string label_of(const NetworkPoint& point, const std::vector<NetworkResult>& results) {
  std::string text;
  for (const Setting setting : kSettings) {
    const std::string value = setting(point);
    if (!value.empty() && differs(setting, results)) text += (text.empty() ? "" : ", ") + value;
  }
  return text.empty() ? describe(point) : text;
}

}  // namespace

std::string table_of(const std::vector<NetworkResult>& results, const NetworkOptions& options,
                     const std::string& machine) {
  std::string text = fmt::format("# {}\n\n", options.name);
  if (!options.command.empty()) text += fmt::format("```sh\n{}\n```\n", options.command);
  text += fmt::format(
      "On {}; ports of {} with a buffer of {}, {:g} s a run, medians of {} run{}. Goodput, latency and "
      "retransmissions are those after the first second.\n\n",
      machine, options.rate, options.buffer, options.seconds, options.rounds, options.rounds == 1 ? "" : "s");
  text +=
      "| point | goodput, % of theory | p50, ms | p99, ms | max, ms | p99 over serialisation | retransmitted "
      "a second | drops at ports | CPU, s/s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const NetworkResult& result : results) {
    const NetworkRun run = result.medians();
    const NetworkPart& part = run.after_1s;
    fmt::format_to(std::back_inserter(text),
                   "| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.0f} | {:.0f} | {:.2f} |\n",
                   label_of(result.point, results), kPercent * part.share_of_theory, part.p50_us / kUsPerMs,
                   part.p99_us / kUsPerMs, part.max_us / kUsPerMs,
                   run.serialisation_us > 0 ? part.p99_us / run.serialisation_us : 0, part.retransmits_per_s,
                   part.port_drops, run.machine_cpu_s_per_s);
  }
  return text;
}

}  // namespace weir::bench
