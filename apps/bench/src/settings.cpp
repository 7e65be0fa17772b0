// What points differ in, and the table of a sweep.
#include "settings.hpp"

#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
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

const std::array<Setting, 9> kSettings = {{
    {[](const NetworkPoint& point) { return point.shaper; }},
    {[](const NetworkPoint& point) { return window_text(point); }, kQuotaLabel,
     [](const NetworkPoint& point) { return static_cast<double>(point.window_fragments); }},
    {[](const NetworkPoint& point) { return window_text(point); }, kWindowLabel,
     [](const NetworkPoint& point) { return static_cast<double>(point.allowed_bytes()) / kBytesPerKb; }},
    {[](const NetworkPoint& point) { return load_text(point); }, kLoadLabel,
     [](const NetworkPoint& point) { return kPercent * point.load; }},
    {[](const NetworkPoint& point) { return fmt::format("{} readouts", point.readouts); }, "readouts",
     [](const NetworkPoint& point) { return static_cast<double>(point.readouts); }},
    {[](const NetworkPoint& point) { return fmt::format("fragments of {} B", point.fragment_bytes); },
     "fragment, bytes", [](const NetworkPoint& point) { return static_cast<double>(point.fragment_bytes); }},
    {[](const NetworkPoint& point) { return fmt::format("{} a readout", point.fragments); },
     "fragments of each readout in a slice",
     [](const NetworkPoint& point) { return static_cast<double>(point.fragments); }},
    {[](const NetworkPoint& point) { return segments_text(point); }, "static congestion window, segments",
     [](const NetworkPoint& point) { return static_cast<double>(point.window_segments); }},
    {[](const NetworkPoint& point) { return point.congestion; }},
}};

// A quota in fragments is an axis only where every window is one, and any setting only where it was varied
// for one shaper: else there is nothing to connect.
bool may_be_axis(const Setting& setting, const std::vector<NetworkResult>& results) {
  if (setting.value == nullptr) return false;
  const bool quota = &setting == &kSettings[1];
  std::map<std::string, std::set<double>> values;
  for (const NetworkResult& result : results) {
    if (quota && result.point.window_bytes > 0) return false;
    if (const double value = setting.value(result.point); value > 0)
      values[result.point.shaper].insert(value);
  }
  return std::any_of(values.begin(), values.end(), [](const auto& one) { return one.second.size() > 1; });
}

bool same_text(const Setting& a, const Setting& b, const NetworkPoint& point) {
  return a.text(point) == b.text(point);
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

bool differs(const Setting& setting, const std::vector<NetworkResult>& results) {
  return std::any_of(results.begin(), results.end(), [&](const NetworkResult& result) {
    return setting.text(result.point) != setting.text(results.front().point);
  });
}

Axis axis_of(const std::vector<NetworkResult>& results) {
  for (const Setting& setting : kSettings) {
    if (may_be_axis(setting, results)) return {setting.label, setting.value};
  }
  return {};
}

std::string series_of(const NetworkPoint& point, const std::vector<NetworkResult>& results,
                      const Axis& axis) {
  const auto drawn = std::find_if(kSettings.begin(), kSettings.end(), [&](const Setting& setting) {
    return axis.value != nullptr && setting.label == axis.label;
  });
  std::string text;
  for (const Setting& setting : kSettings) {
    const std::string value = setting.text(point);
    if (value.empty() || !differs(setting, results)) continue;
    if (drawn != kSettings.end() && same_text(setting, *drawn, point)) continue;
    if (&setting == &kSettings[2]) continue;  // the words of the one before it
    text += (text.empty() ? "" : ", ") + value;
  }
  return text;
}

std::string table_of(const std::vector<NetworkResult>& results, const NetworkOptions& options,
                     const std::vector<Figure>& figures, const std::string& machine) {
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
    const std::string label = series_of(result.point, results, {});
    fmt::format_to(std::back_inserter(text),
                   "| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.0f} | {:.0f} | {:.2f} |\n",
                   label.empty() ? describe(result.point) : label, kPercent * part.share_of_theory,
                   part.p50_us / kUsPerMs, part.p99_us / kUsPerMs, part.max_us / kUsPerMs,
                   run.serialisation_us > 0 ? part.p99_us / run.serialisation_us : 0, part.retransmits_per_s,
                   part.port_drops, run.machine_cpu_s_per_s);
  }
  for (const Figure& figure : figures) text += fmt::format("\n![{}]({}.svg)\n", figure.title, figure.name);
  return text;
}

}  // namespace weir::bench
