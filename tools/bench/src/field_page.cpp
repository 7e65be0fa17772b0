// The field bench's lines and page.
#include "units.hpp"
#include <weir/bench/field.hpp>
#include <weir/bench/loopback.hpp>
#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weir::bench {
namespace {

namespace json = boost::json;

template <class Value>
double median_of(const FieldResult& result, const Value& value) {
  std::vector<double> values;
  for (const NetworkRun& run : result.runs) values.push_back(value(run));
  return values.empty() ? 0 : median(std::move(values));
}

// In the order of their first occurrence.
template <class Key>
std::vector<std::string> words_of(const std::vector<FieldResult>& results, const Key& key) {
  std::vector<std::string> words;
  for (const FieldResult& result : results) {
    const std::string word = key(result.point);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

constexpr const char* kPageHead =
    "Farms in realistic networks, under the DCMs' shapers: `quiet`, nothing else runs; "
    "`busy`, "
    "with a spinner\non each core ([lab](../lab.md)). Goodput, latency and retransmissions are those after "
    "the "
    "first second; goodput is against\nwhat the narrowest place of the network lets through, latency is the "
    "99th percentile of first request to last fragment over\nthe time that a slice takes through the DCM's "
    "port. Drops are of all ports. CPU is the time of the farm's processes.\n";

std::string latency_text(const FieldFigures& figures) {
  return figures.p99_over_serialisation > 0 ? fmt::format("{:.2f}", figures.p99_over_serialisation)
                                            : "no slice";
}

std::string jitter_text(const std::string& name, const std::vector<FieldResult>& results) {
  double most_us = 0;
  bool inexact = false;
  for (const FieldResult& result : results) {
    if (result.point.what->name != name) continue;
    for (const NetworkRun& run : result.runs) {
      most_us = std::max(most_us, run.jitter_us);
      inexact = inexact || run.inexact_delay > 0;
    }
  }
  if (most_us == 0) return {};
  return fmt::format("\nThe p99 jitter of the delay was at most {:.0f} us{}.\n", most_us,
                     inexact ? ", more than 10 % of the delay: this case's delays are not exact" : "");
}

void add_case(const std::string& name, const std::vector<FieldResult>& results, std::string& text) {
  const char* title = "";
  std::string rows;
  for (const FieldResult& result : results) {
    if (result.point.what->name != name) continue;
    title = result.point.what->title;
    const FieldFigures figures = figures_of(result);
    fmt::format_to(std::back_inserter(rows),
                   "| {} | {} | {:.1f} | {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} |\n",
                   result.point.busy ? "busy" : "quiet", shaper_text(result.point),
                   kPercent * figures.share_of_theory, latency_text(figures), figures.drops,
                   figures.drops_after_1s, figures.retransmits_per_s, figures.cpu_s_per_s);
  }
  text += fmt::format(
      "\n## {}\n{}.\n\n| load | shaper | goodput, % of theory | p99 over serialisation | drops | of them "
      "after 1 s "
      "| retransmitted a second | CPU, s/s |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n{}",
      name, title, rows);
  text += jitter_text(name, results);
}

}  // namespace

FieldFigures figures_of(const FieldResult& result) {
  const double bound = result.point.what->bound;
  FieldFigures figures;
  figures.share_of_theory =
      median_of(result, [](const NetworkRun& run) { return run.after_1s.share_of_theory; });
  figures.p99_over_serialisation =
      bound * median_of(result, [](const NetworkRun& run) {
        return run.serialisation_us > 0 ? run.after_1s.p99_us / run.serialisation_us : 0;
      });
  figures.drops = median_of(result, [](const NetworkRun& run) { return run.whole.port_drops; });
  figures.drops_after_1s = median_of(result, [](const NetworkRun& run) { return run.after_1s.port_drops; });
  figures.retransmits_per_s =
      median_of(result, [](const NetworkRun& run) { return run.after_1s.retransmits_per_s; });
  figures.cpu_s_per_s = median_of(result, [](const NetworkRun& run) { return run.cpu_s_per_s; });
  figures.machine_cpu_s_per_s =
      median_of(result, [](const NetworkRun& run) { return run.machine_cpu_s_per_s; });
  return figures;
}

std::string to_json_line(const FieldResult& result, const FieldOptions& options) {
  const FieldFigures figures = figures_of(result);
  return run_record::one_line(
      json::object{{"bench", "field"},
                   {"case", result.point.what->name},
                   {"load", result.point.busy ? "busy" : "quiet"},
                   {"shaper", result.point.shaper},
                   {"window_bytes", result.point.window_bytes},
                   {"seconds", options.seconds},
                   {"rounds", result.runs.size()},
                   {"share_of_theory", four_digits(figures.share_of_theory)},
                   {"p99_over_serialisation", four_digits(figures.p99_over_serialisation)},
                   {"drops", four_digits(figures.drops)},
                   {"drops_after_1s", four_digits(figures.drops_after_1s)},
                   {"retransmits_per_s", four_digits(figures.retransmits_per_s)},
                   {"cpu_s_per_s", four_digits(figures.cpu_s_per_s)},
                   {"machine_cpu_s_per_s", four_digits(figures.machine_cpu_s_per_s)}});
}

std::string page_of(const std::vector<FieldResult>& results, const FieldOptions& options,
                    const std::string& machine) {
  std::string text = fmt::format("# {}\n\n", options.name);
  if (!options.command.empty()) text += fmt::format("```sh\n{}\n```\n", options.command);
  text += kPageHead;
  text += fmt::format("\nOn {}; {:g} s a run, medians of {} run{}, the shapers of a case in turn.\n", machine,
                      options.seconds, options.rounds, options.rounds == 1 ? "" : "s");
  for (const std::string& name :
       words_of(results, [](const FieldPoint& point) { return std::string(point.what->name); })) {
    add_case(name, results, text);
  }
  return text;
}

}  // namespace weir::bench
