#include "report.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/streams.hpp>
#include <weir/histograms/document.hpp>
#include <weir/histograms/drawing.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>

namespace weir::filter_try {
namespace {

namespace json = boost::json;
using filter_job::Keep;
using filter_job::StepVerdict;

constexpr std::size_t kErrorTextMax = 300;
constexpr std::size_t kTracebackMax = 4000;
constexpr double kNanosecondsPerMicrosecond = 1000;

std::string_view name(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::accept:
      return "accept";
    case StepVerdict::reject:
      return "reject";
    case StepVerdict::need_more:
      return "need_more";
    case StepVerdict::forward:
      return "forward";
    case StepVerdict::error:
    case StepVerdict::poison:   // of worker processes, which a trial has not
    case StepVerdict::restart:  // likewise
      break;
  }
  return "error";
}

std::string_view name(Keep keep) {
  constexpr std::array<std::string_view, 3> kNames{"all", "listed", "none"};
  return kNames[static_cast<std::size_t>(keep)];
}

struct Totals {
  std::uint64_t slices = 0;
  std::uint64_t accepted = 0;
  std::uint64_t rejected = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t errors = 0;
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  std::uint64_t event_bytes = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t recorded_bytes = 0;
};

Totals totals_of(const TrialResult& result) {
  Totals totals;
  totals.slices = result.slices.size();
  for (const SliceOutcome& slice : result.slices) {
    totals.accepted += slice.verdict == StepVerdict::accept ? 1 : 0;
    totals.rejected += slice.verdict == StepVerdict::reject ? 1 : 0;
    totals.forwarded += slice.verdict == StepVerdict::forward ? 1 : 0;
    totals.errors += slice.verdict == StepVerdict::error ? 1 : 0;
    totals.steps += slice.steps;
    totals.events += slice.events;
    totals.event_bytes += slice.event_bytes;
    totals.requested_bytes += slice.requested_bytes;
    totals.recorded_bytes += slice.recorded_bytes;
  }
  return totals;
}

// Of the times in process(), in ns.
struct Times {
  double mean = 0;
  double sigma = 0;
  DurationNs p50 = 0;
  DurationNs p90 = 0;
  DurationNs p99 = 0;
  DurationNs max = 0;
};

Times times_of(const TrialResult& result) {
  std::vector<DurationNs> times;
  times.reserve(result.slices.size());
  for (const SliceOutcome& slice : result.slices) times.push_back(slice.process_ns);
  if (times.empty()) return {};
  std::ranges::sort(times);
  const auto at = [&times](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  const auto count = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / count;
  const double square = std::accumulate(times.begin(), times.end(), 0.0, [mean](double sum, DurationNs time) {
    const double off = static_cast<double>(time) - mean;
    return sum + off * off;
  });
  return {mean, std::sqrt(square / count), at(0.5), at(0.9), at(0.99), times.back()};
}

// Without the traceback, which JSON has.
std::string first_line(const std::string& error) {
  return clean_text(error.substr(0, error.find('\n')), kErrorTextMax);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole) * kPercent;
}

std::string time_text(double nanoseconds) {
  if (nanoseconds < kNanosecondsPerMicrosecond) return fmt::format("{:.0f} ns", nanoseconds);
  return fmt::format("{:.1f} us", nanoseconds / kNanosecondsPerMicrosecond);
}

void add_time(std::string& text, const TrialResult& result, const TrialOptions& options) {
  const Times times = times_of(result);
  const auto us = [](DurationNs time) { return time_text(static_cast<double>(time)); };
  const double seconds = static_cast<double>(result.wall_ns) / static_cast<double>(kSecond);
  const double processed = static_cast<double>(result.slices.size()) * options.repeat;
  text += fmt::format("  time       {} a slice (sigma {}), p50 {}  p90 {}  p99 {}  max {}\n",
                      time_text(times.mean), time_text(times.sigma), us(times.p50), us(times.p90),
                      us(times.p99), us(times.max));
  text += fmt::format("  rate       {:.0f} slices/s on {}\n", seconds > 0 ? processed / seconds : 0,
                      counted(options.jobs, "thread"));
}

void add_memory(std::string& text, const TrialResult& result, const TrialOptions& options) {
  const MemoryUse& memory = result.memory;
  text += fmt::format(
      "  memory     {} before, {} after half, {} at the end", bytes_text(static_cast<double>(memory.begin)),
      bytes_text(static_cast<double>(memory.middle)), bytes_text(static_cast<double>(memory.end)));
  const double half = static_cast<double>(result.slices.size()) * options.repeat / 2;
  if (memory.end > memory.middle && half >= 1)
    text += fmt::format(": {:.0f} bytes a slice in the second half",
                        static_cast<double>(memory.end - memory.middle) / half);
  text += "\n";
}

void add_metrics(std::string& text, const filter_host::FilterMetricsSnapshot& metrics) {
  for (const auto& [counter, value] : metrics.counters)
    if (value > 0 || !counter.starts_with("filter_"))
      text += fmt::format("  counter    {} {}\n", counter, grouped(value));
  for (const auto& [histogram, of] : metrics.histograms) {
    const double mean = of.count == 0 ? 0 : of.sum / static_cast<double>(of.count);
    text += fmt::format(
        "  histogram  {} entries {}, mean {:.4g}, min {:.4g}, p50 {:.4g}, p99 {:.4g}, max {:.4g}\n",
        histogram, grouped(of.count), mean, of.min, of.quantile(0.5), of.quantile(0.99), of.max);
  }
}

// The first `lines_max` of `items`, a line each, and the number of the others.
template <class Items, class Line>
void add_lines(std::string& text, const Items& items, std::uint32_t lines_max, Line line) {
  std::size_t written = 0;
  for (const auto& item : items) {
    if (lines_max != 0 && written == lines_max) break;
    text += line(item);
    ++written;
  }
  if (written < items.size())
    text += fmt::format("  and {} more ('--lines 0' shows all)\n", items.size() - written);
}

void add_histograms(std::string& text, const histograms::Contents& contents) {
  for (std::uint32_t i = 0; i < contents.layout().all().size(); ++i)
    text += "\n" + histograms::draw(contents.view(i));
}

json::array booked_json(const histograms::Contents& contents) {
  json::array list;
  for (std::uint32_t i = 0; i < contents.layout().all().size(); ++i)
    list.push_back(json::parse(histograms::to_json(contents.view(i), contents.cells(i))));
  return list;
}

json::object histogram_json(const filter_host::HistogramSnapshot& of) {
  return {{"entries", of.count}, {"sum", of.sum},           {"min", of.min},
          {"max", of.max},       {"p50", of.quantile(0.5)}, {"p99", of.quantile(0.99)}};
}

json::object slice_object(const SliceOutcome& outcome) {
  json::object object{{"slice", std::to_string(outcome.slice.value)},
                      {"verdict", name(outcome.verdict)},
                      {"steps", outcome.steps},
                      {"requested_bytes", outcome.requested_bytes},
                      {"process_ns", outcome.process_ns}};
  if (outcome.verdict == StepVerdict::error) object["error"] = clean_text(outcome.error, kTracebackMax);
  if (outcome.verdict != StepVerdict::accept) return object;
  object["streams"] = filter_host::StreamTable().names(outcome.streams);
  object["keep"] = name(outcome.keep);
  object["events"] = outcome.events;
  object["event_bytes"] = outcome.event_bytes;
  object["result_bytes"] = outcome.result_bytes;
  object["output_digest"] = fmt::format("{:016x}", outcome.output_digest);
  return object;
}

}  // namespace

std::vector<Disagreement> disagreements(const TrialResult& first, const TrialResult& second) {
  std::vector<Disagreement> slices;
  for (std::size_t i = 0; i < first.slices.size() && i < second.slices.size(); ++i)
    if (!first.slices[i].same_decision(second.slices[i]))
      slices.push_back({first.slices[i], second.slices[i]});
  return slices;
}

std::string slice_text(const SliceOutcome& outcome) {
  std::string text = fmt::format("slice {}  {}", outcome.slice.value, name(outcome.verdict));
  if (outcome.verdict == StepVerdict::error) text += ": " + first_line(outcome.error);
  if (outcome.verdict == StepVerdict::accept) {
    text += fmt::format(" to {}", filter_host::StreamTable().names(outcome.streams));
    if (outcome.keep != Keep::all) text += fmt::format(", keep {}", name(outcome.keep));
    if (outcome.events > 0)
      text += fmt::format(", {} ({} bytes)", counted(outcome.events, "event"), outcome.event_bytes);
    if (outcome.result_bytes > 0) text += fmt::format(", result of {} bytes", outcome.result_bytes);
  }
  if (outcome.steps > 1) text += fmt::format("  {} steps", outcome.steps);
  return text + fmt::format("  {}\n", time_text(static_cast<double>(outcome.process_ns)));
}

std::string trial_text(const filter_host::FilterPlugin& plugin, const TrialResult& result,
                       const TrialOptions& options, std::uint32_t lines_max) {
  const Totals totals = totals_of(result);
  std::string text =
      fmt::format("{} {} on {}\n", plugin.name(), plugin.version(), counted(totals.slices, "slice"));
  const auto line = [&](std::string_view what, std::uint64_t count) {
    text += fmt::format("  {:<10} {:>9} {:5.1f} %\n", what, grouped(count), share(count, totals.slices));
  };
  line("accepted", totals.accepted);
  line("rejected", totals.rejected);
  if (totals.forwarded > 0) line("forwarded", totals.forwarded);
  line("errors", totals.errors);
  if (totals.steps > totals.slices)
    text += fmt::format(
        "  steps      {:.2f} a slice\n",
        static_cast<double>(totals.steps) / static_cast<double>(std::max<std::uint64_t>(totals.slices, 1)));
  text += fmt::format("  requested  {} of {} recorded ({:.1f} %)\n",
                      bytes_text(static_cast<double>(totals.requested_bytes)),
                      bytes_text(static_cast<double>(totals.recorded_bytes)),
                      share(totals.requested_bytes, totals.recorded_bytes));
  if (totals.slices > 0 && totals.recorded_bytes == 0)
    text += "  no data    these slices have no raw data: record some with a filter that keeps it\n";
  if (totals.events > 0)
    text += fmt::format("  output     {}, {}\n", counted(totals.events, "event"),
                        bytes_text(static_cast<double>(totals.event_bytes)));
  add_time(text, result, options);
  add_memory(text, result, options);
  add_metrics(text, result.metrics);
  add_histograms(text, result.histograms);
  std::vector<SliceOutcome> errors;
  std::ranges::copy_if(result.slices, std::back_inserter(errors),
                       [](const SliceOutcome& slice) { return slice.verdict == StepVerdict::error; });
  add_lines(text, errors, lines_max, [](const SliceOutcome& slice) { return "  " + slice_text(slice); });
  if (options.repeat > 1) {
    text += result.inconsistent.empty()
                ? fmt::format("  repeated   {} times: the same decision for every slice\n", options.repeat)
                : fmt::format("  repeated   {} times: {} with different decisions\n", options.repeat,
                              counted(result.inconsistent.size(), "slice"));
    add_lines(text, result.inconsistent, lines_max,
              [](SliceId slice) { return fmt::format("  slice {}\n", slice.value); });
  }
  if (!result.end_error.empty())
    text += fmt::format("  end        the filter could not end the run: {}\n", result.end_error);
  return text;
}

std::string disagreements_text(const std::vector<Disagreement>& slices, std::uint32_t lines_max) {
  if (slices.empty()) return "The two plugins agree on every slice.\n";
  std::string text = fmt::format("The two plugins disagree on {}:\n", counted(slices.size(), "slice"));
  add_lines(text, slices, lines_max, [](const Disagreement& slice) {
    if (slice.first.verdict != slice.second.verdict)
      return fmt::format("  slice {}: {}, then {}\n", slice.first.slice.value, name(slice.first.verdict),
                         name(slice.second.verdict));
    return fmt::format("  slice {}: both {}, with different output\n", slice.first.slice.value,
                       name(slice.first.verdict));
  });
  return text;
}

std::string slice_json(const SliceOutcome& outcome) { return json::serialize(slice_object(outcome)); }

std::string disagreement_json(const Disagreement& slice) {
  return json::serialize(json::object{{"disagreement", std::to_string(slice.first.slice.value)},
                                      {"first", slice_object(slice.first)},
                                      {"second", slice_object(slice.second)}});
}

std::string trial_json(const filter_host::FilterPlugin& plugin, const TrialResult& result) {
  const Totals totals = totals_of(result);
  const Times times = times_of(result);
  json::object counters;
  for (const auto& [counter, value] : result.metrics.counters) counters[counter] = value;
  json::object histograms;
  for (const auto& [histogram, of] : result.metrics.histograms) histograms[histogram] = histogram_json(of);
  json::array inconsistent;
  for (const SliceId slice : result.inconsistent) inconsistent.emplace_back(std::to_string(slice.value));
  return json::serialize(json::object{{"plugin", plugin.name()},
                                      {"version", plugin.version()},
                                      {"path", plugin.path()},
                                      {"slices", totals.slices},
                                      {"accepted", totals.accepted},
                                      {"rejected", totals.rejected},
                                      {"errors", totals.errors},
                                      {"steps", totals.steps},
                                      {"events", totals.events},
                                      {"event_bytes", totals.event_bytes},
                                      {"requested_bytes", totals.requested_bytes},
                                      {"recorded_bytes", totals.recorded_bytes},
                                      {"process_ns", json::object{{"mean", times.mean},
                                                                  {"sigma", times.sigma},
                                                                  {"p50", times.p50},
                                                                  {"p90", times.p90},
                                                                  {"p99", times.p99},
                                                                  {"max", times.max}}},
                                      {"wall_ns", result.wall_ns},
                                      {"memory_bytes", json::object{{"begin", result.memory.begin},
                                                                    {"middle", result.memory.middle},
                                                                    {"end", result.memory.end}}},
                                      {"counters", std::move(counters)},
                                      {"histograms", std::move(histograms)},
                                      {"booked_histograms", booked_json(result.histograms)},
                                      {"inconsistent", std::move(inconsistent)},
                                      {"end_error", result.end_error}});
}

}  // namespace weir::filter_try
