// Verdicts, the table and the lines of an experiment. Pure.
#include "units.hpp"
#include <weir/bench/experiment.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace weir::bench {
namespace {

namespace json = boost::json;

constexpr double kSegmentBytes = 1448;  // of a full frame: TCP with time stamps, MTU 1500

double our_x(const ExperimentPoint& point, Vary vary) {
  switch (vary) {
    case Vary::quota:
      return std::max(1.0, std::round(point.cure.quota));
    case Vary::readouts:
      return point.setting.readouts;
    case Vary::core_buffer:
      return point.setting.core_kb;
    case Vary::fragment:
      return point.setting.fragment_bytes;
    case Vary::ring:
      return std::max(1.0, std::round(point.cure.ring_packets));
    case Vary::ring_rate:
      return point.cure.ring_mbit / kMbitPerGbit;
    default:
      return point.x;
  }
}

bool matches(const Expectation& expectation, const ExperimentResult& result) {
  const ExperimentPoint& point = result.point;
  return (expectation.cure.empty() || expectation.cure == point.cure.label) && expectation.tcp == point.tcp &&
         point.x >= expectation.x_from && point.x <= expectation.x_to;
}

// `ratio`: of the quantity to that of another cure.
std::string value_text(Quantity quantity, bool ratio, double value) {
  if (ratio) return fmt::format("{:.2f} times", value);
  switch (quantity) {
    case Quantity::share:
    case Quantity::sustained:
    case Quantity::slow:
    case Quantity::source_least:
    case Quantity::source_most:
    case Quantity::early_requests:
      return fmt::format("{:.0f} %", kPercent * value);
    case Quantity::drops:
    case Quantity::idle_gaps:
      return fmt::format("{:.0f}", value);
    case Quantity::retransmitted:
      return fmt::format("{:.3f} %", kPercent * value);
    case Quantity::rate:
      return fmt::format("{:.0f} Hz", value);
    case Quantity::queue_kb:
      return fmt::format("{:.0f} kB", value);
    default:
      return fmt::format("{:.1f} ms", value);
  }
}

std::string verdict_line(const ExpectationVerdict& verdict) {
  const Expectation& expectation = *verdict.expectation;
  const std::string about =
      fmt::format("{}{}{} TCP: {}", expectation.cure, expectation.cure.empty() ? "" : ", ",
                  name_of(expectation.tcp), expectation.paper);
  if (!verdict.measured) return fmt::format("- not measured: {}\n", about);
  std::string bounds;
  const auto text = [&](double value) {
    return value_text(expectation.quantity, !expectation.over.empty(), value);
  };
  if (std::isfinite(expectation.least)) bounds += " at least " + text(expectation.least);
  if (std::isfinite(expectation.most))
    bounds += (bounds.empty() ? " at most " : ", at most ") + text(expectation.most);
  const std::string low = text(verdict.least);
  const std::string high = text(verdict.most);
  return verdict_text(verdict.met,
                      fmt::format("{}. Criterion: {}{}{}", about, name_of(expectation.quantity), bounds,
                                  expectation.over.empty() ? "" : " those of " + expectation.over),
                      low == high ? low : low + " to " + high);
}

// Returns nothing if the value is a ratio to a run that was not measured.
std::optional<double> value_of(const Expectation& expectation, const ExperimentResult& result,
                               const std::vector<ExperimentResult>& results) {
  const double value = result.figures.of(expectation.quantity);
  if (expectation.over.empty()) return value;
  const auto other = std::ranges::find_if(results, [&](const ExperimentResult& one) {
    return one.point.cure.label == expectation.over && one.point.tcp == result.point.tcp &&
           one.point.x == result.point.x;
  });
  if (other == results.end() || other->figures.of(expectation.quantity) <= 0) return std::nullopt;
  return value / other->figures.of(expectation.quantity);
}

json::array points_of(const Series& series) {
  json::array points;
  for (const auto& [x, y] : series) points.push_back(json::array{four_digits(x), four_digits(y)});
  return points;
}

void add_trace(Show show, const TraceView& view, json::object& line) {
  if (!needs_trace(show)) return;
  line["idle_gaps"] = view.idle_gaps;
  line["collection_ms"] = four_digits(view.collection_ms);
  line["early_requests"] = four_digits(view.early_requests);
  line["longest_queue_kb"] = four_digits(view.most_queue_kb);
  if (show == Show::use) line["use"] = points_of(view.use);
  if (show == Show::collection) {
    line["requests"] = points_of(view.requests);
    line["responses"] = points_of(view.responses);
  }
  if (show != Show::queues) return;
  json::object& queues = line["queues"].emplace_object();
  for (const TraceView::Queue& queue : view.queues) queues[queue.port] = points_of(queue.kb);
}

std::string trace_table(const std::vector<ExperimentResult>& results) {
  std::string text =
      "\n| cure, TCP | idle for 150 ms or more | first request to last response, ms | requests in its first "
      "quarter, % | longest queue, kB | at |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const auto& [point, figures] : results) {
    const TraceView& view = figures.trace;
    fmt::format_to(std::back_inserter(text), "| {} | {:.0f} | {:.1f} | {:.0f} | {:.1f} | {} |\n",
                   label_of(point), view.idle_gaps, view.collection_ms, kPercent * view.early_requests,
                   view.most_queue_kb, view.queues.empty() ? "" : view.queues.front().port);
  }
  return text;
}

std::string source_table(const std::vector<ExperimentResult>& results) {
  std::string text =
      "\n| cure, TCP | link of the source that sends least, % | most, % |\n| --- | --- | --- |\n";
  for (const auto& [point, figures] : results) {
    fmt::format_to(std::back_inserter(text), "| {} | {:.1f} | {:.1f} |\n", label_of(point),
                   kPercent * figures.source_least, kPercent * figures.source_most);
  }
  return text;
}

// Rows of runs with back-pressure; empty if there are none.
std::string pause_table(const std::vector<ExperimentResult>& results) {
  std::string rows;
  for (const auto& [point, figures] : results) {
    if (point.cure.back_pressure.empty()) continue;
    fmt::format_to(std::back_inserter(rows), "| {} | {:.4g} | {:.0f} | {} | {:.1f} |\n", label_of(point),
                   point.x, figures.pauses, figures.held_at, kPercent * figures.held);
  }
  if (rows.empty()) return {};
  return "\n| cure, TCP | paper's x | pauses of the run | port held back longest | of the run, % |\n| --- | "
         "--- | "
         "--- | --- | --- |\n" +
         rows;
}

std::string bit_error_table(const std::vector<ExperimentResult>& results) {
  std::string text =
      "\n| cure, TCP | bit error rate | frames lost to it, settling included | retransmitted segments, % | "
      "longest latency, ms |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& [point, figures] : results) {
    fmt::format_to(std::back_inserter(text), "| {} | {:g} | {:.0f} | {:.3f} | {:.1f} |\n", label_of(point),
                   point.cure.bit_errors, figures.bit_error_losses,
                   kPercent * figures.of(Quantity::retransmitted), figures.max_ms);
  }
  return text;
}

// `paper_ms`: the delay in the paper.
std::string delay_text(double paper_ms, const std::vector<ExperimentResult>& results) {
  if (results.empty() || results.front().point.setting.delay_ms == 0) return {};
  double jitter_ms = 0;
  std::string marks;
  for (const auto& [point, figures] : results) {
    jitter_ms = std::max(jitter_ms, figures.jitter_ms);
    if (!figures.inexact_delay) continue;
    marks += fmt::format(
        "- Jitter above 10 % of the delay: {} at {:g}, {:.2f} ms. This row's delays are not exact.\n",
        label_of(point), point.x, figures.jitter_ms);
  }
  return fmt::format(
      "\nThe readouts' links have a delay of {:g} ms in each direction ({:g} ms in the paper), with a p99 "
      "jitter "
      "of {:.2f} ms at most.\n{}{}",
      results.front().point.setting.delay_ms, paper_ms, jitter_ms, marks.empty() ? "" : "\n", marks);
}

std::string scale_text(const Experiment& experiment, double scale) {
  std::string scaled;
  const auto add = [&](bool one, const char* name) {
    if (one) scaled += (scaled.empty() ? "" : ", ") + std::string(name);
  };
  add(experiment.scaling.rates,
      experiment.setting.delay_ms > 0 ? "link rates (and delays by its inverse)" : "link rates");
  add(experiment.scaling.buffers, "buffers, quotas and windows");
  add(experiment.scaling.readouts, "number of readouts");
  add(experiment.scaling.triggers, "rate of slices, so that times are longer by its inverse");
  return fmt::format("Scale {:g} of: {}.", scale, scaled);
}

}  // namespace

const char* name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::share:
      return "goodput, of theory";
    case Quantity::sustained:
      return "slices built, of those offered";
    case Quantity::mean_ms:
      return "mean latency";
    case Quantity::min_ms:
      return "shortest latency";
    case Quantity::max_ms:
      return "longest latency";
    case Quantity::p99_ms:
      return "p99 of the latency";
    case Quantity::slow:
      return "slices of 200 ms or more";
    case Quantity::drops:
      return "frames dropped";
    case Quantity::retransmitted:
      return "retransmitted segments";
    case Quantity::rate:
      return "slices per second";
    case Quantity::source_least:
      return "use of the link of the source that sends least";
    case Quantity::source_most:
      return "use of the link of the source that sends most";
    case Quantity::idle_gaps:
      return "times of 150 ms or more in which the link is idle";
    case Quantity::collection_ms:
      return "first request to last response";
    case Quantity::early_requests:
      return "requests in the first quarter of this time";
    case Quantity::queue_kb:
      return "longest queue";
  }
  return "";
}

double ExperimentFigures::of(Quantity quantity) const {
  switch (quantity) {
    case Quantity::share:
      return theory_bytes_per_s > 0 ? goodput_bytes_per_s / theory_bytes_per_s : 0;
    case Quantity::sustained:
      return offered_hz > 0 ? sustained_hz / offered_hz : 0;
    case Quantity::mean_ms:
      return mean_ms;
    case Quantity::min_ms:
      return min_ms;
    case Quantity::max_ms:
      return max_ms;
    case Quantity::p99_ms:
      return p99_ms;
    case Quantity::slow:
      return slow;
    case Quantity::drops:
      return drops;
    case Quantity::retransmitted:
      return retransmits_per_s > 0
                 ? retransmits_per_s / (goodput_bytes_per_s / kSegmentBytes + retransmits_per_s)
                 : 0;
    case Quantity::rate:
      return sustained_hz;
    case Quantity::source_least:
      return source_least;
    case Quantity::source_most:
      return source_most;
    case Quantity::idle_gaps:
      return trace.idle_gaps;
    case Quantity::collection_ms:
      return trace.collection_ms;
    case Quantity::early_requests:
      return trace.early_requests;
    case Quantity::queue_kb:
      return trace.most_queue_kb;
  }
  return 0;
}

bool LossFreeSearch::measured(bool loss_free) {
  const bool all_lost = low_ == 0;  // so far, and then each load is less than the one before
  (loss_free ? low_ : high_) = next_;
  next_ = (low_ + high_) / 2;
  ++steps_;
  return loss_free || all_lost;
}

bool has_loss_free_load(const Experiment& experiment) {
  return !experiment.setting.push && experiment.setting.flows.empty();
}

Experiment loss_free_of(Experiment experiment) {
  experiment.title += ": largest load without losses";
  if (experiment.vary != Vary::load) return experiment;
  experiment.vary = Vary::nothing;
  experiment.x = {0};
  return experiment;
}

std::string output_name(const Experiment& experiment, const ExperimentOptions& options) {
  return options.bench + "-" + experiment.id + (options.loss_free ? "-loss-free" : "");
}

double scale_of(const Experiment& experiment, const ExperimentOptions& options) {
  return options.scale > 0 ? options.scale : experiment.scale;
}

ExperimentTimes times_of(const Experiment& experiment, const ExperimentOptions& options) {
  ExperimentTimes times = experiment.times;
  if (options.settle_s > 0) times.settle_s = options.settle_s;
  if (options.measure_s > 0) times.measure_s = options.measure_s;
  return times;
}

std::vector<ExpectationVerdict> verdicts_of(const Experiment& experiment,
                                            const std::vector<ExperimentResult>& results) {
  std::vector<ExpectationVerdict> verdicts;
  for (const Expectation& expectation : experiment.expectations) {
    ExpectationVerdict& verdict = verdicts.emplace_back();
    verdict.expectation = &expectation;
    for (const ExperimentResult& result : results) {
      if (!matches(expectation, result)) continue;
      const auto measured = value_of(expectation, result, results);
      if (!measured) continue;
      const double value = *measured;
      verdict.least = verdict.measured ? std::min(verdict.least, value) : value;
      verdict.most = verdict.measured ? std::max(verdict.most, value) : value;
      verdict.measured = true;
    }
    verdict.met = verdict.measured && verdict.least >= expectation.least && verdict.most <= expectation.most;
  }
  return verdicts;
}

std::string experiment_line(const Experiment& experiment, const ExperimentResult& result,
                            const ExperimentOptions& options) {
  const ExperimentPoint& point = result.point;
  const ExperimentFigures& figures = result.figures;
  const ExperimentTimes times = times_of(experiment, options);
  json::array histogram;
  for (const auto& [ms, slices] : figures.histogram) histogram.push_back(json::array{ms, slices});
  json::object line{{"bench", "experiment"},
                    {"paper", options.bench},
                    {"figure", experiment.id},
                    {"title", experiment.title},
                    {"x_label", name_of(experiment.vary)},
                    {"x_paper", point.x},
                    {"x", four_digits(our_x(point, experiment.vary))},
                    {"cure", point.cure.label},
                    {"tcp", name_of(point.tcp)},
                    {"scale", scale_of(experiment, options)},
                    {"settle_s", times.settle_s},
                    {"measure_s", times.measure_s},
                    {"loss_free", options.loss_free},
                    {"readouts", point.setting.readouts},
                    {"offered_hz", four_digits(figures.offered_hz)},
                    {"sustained_hz", four_digits(figures.sustained_hz)},
                    {"goodput_bytes_per_s", four_digits(figures.goodput_bytes_per_s)},
                    {"thesis_goodput_bytes_per_s", four_digits(figures.theory_bytes_per_s)},
                    {"theoretical_goodput_bytes_per_s", four_digits(figures.stream_theory_bytes_per_s)},
                    {"share_of_theory", four_digits(figures.of(Quantity::share))},
                    {"serialisation_ms", four_digits(figures.serialisation_ms)},
                    {"mean_ms", four_digits(figures.mean_ms)},
                    {"sigma_ms", four_digits(figures.sigma_ms)},
                    {"min_ms", four_digits(figures.min_ms)},
                    {"p50_ms", four_digits(figures.p50_ms)},
                    {"p99_ms", four_digits(figures.p99_ms)},
                    {"max_ms", four_digits(figures.max_ms)},
                    {"slow_share", four_digits(figures.slow)},
                    {"drops", figures.drops},
                    {"drops_at", figures.drops_at},
                    {"other_drops", figures.other_drops},
                    {"retransmits_per_s", four_digits(figures.retransmits_per_s)},
                    {"retransmitted", four_digits(figures.of(Quantity::retransmitted))},
                    {"bit_errors", point.cure.bit_errors},
                    {"bit_error_losses", figures.bit_error_losses},
                    {"cpu_s_per_s", four_digits(figures.cpu)},
                    {"delay_ms", four_digits(point.setting.delay_ms)},
                    {"jitter_p99_ms", four_digits(figures.jitter_ms)},
                    {"inexact_delay", figures.inexact_delay},
                    {"source_least", four_digits(figures.source_least)},
                    {"source_most", four_digits(figures.source_most)},
                    {"back_pressure", point.cure.back_pressure.empty() ? "none" : point.cure.back_pressure},
                    {"pauses", figures.pauses},
                    {"held_share", four_digits(figures.held)},
                    {"held_at", figures.held_at},
                    {"histogram_ms", std::move(histogram)}};
  add_trace(point.show, figures.trace, line);
  if (point.show == Show::delays) line["delays"] = points_of(figures.delays);
  if (point.show == Show::bars) line["bars"] = true;
  return json::serialize(line);
}

std::string experiment_table(const Experiment& experiment, const std::vector<ExperimentResult>& results,
                             const ExperimentOptions& options, const std::string& machine) {
  const double scale = scale_of(experiment, options);
  const ExperimentTimes times = times_of(experiment, options);
  std::string text = fmt::format(
      "# Figure {} of the {}\n\n```sh\n{}\n```\n{}. {} Settling {:g} s, measuring "
      "{:g} s, on {}. Theory is the thesis' formula.\n\n",
      experiment.id, options.bench, options.command, experiment.title, scale_text(experiment, scale),
      times.settle_s, times.measure_s, machine);
  const bool varies = experiment.vary != Vary::nothing;
  const std::string x_names =
      varies ? fmt::format(" {}: paper | ours |", name_of(experiment.vary)) : std::string();
  text += fmt::format(
      "| cure, TCP |{} offered, Hz | sustained, Hz | goodput, % of theory | latency mean, ms | sigma | min | "
      "p50 | p99 | 200 ms or more, % | drops | most at |\n|{} --- | --- | --- | --- | --- | --- | --- | --- "
      "| "
      "--- | --- | --- | --- |\n",
      x_names, varies ? " --- | --- |" : "");
  for (const auto& [point, figures] : results) {
    const std::string x =
        varies ? fmt::format(" {:g} | {:.4g} |", point.x, our_x(point, experiment.vary)) : std::string();
    fmt::format_to(std::back_inserter(text),
                   "| {} |{} {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | "
                   "{:.0f} | {} |\n",
                   label_of(point), x,
                   figures.offered_hz > 0 ? fmt::format("{:.1f}", figures.offered_hz) : "as built",
                   figures.sustained_hz, kPercent * figures.of(Quantity::share), figures.mean_ms,
                   figures.sigma_ms, figures.min_ms, figures.p50_ms, figures.p99_ms, kPercent * figures.slow,
                   figures.drops, figures.drops_at);
  }
  if (needs_trace(experiment.show)) text += trace_table(results);
  if (!experiment.setting.flows.empty()) text += source_table(results);
  text += pause_table(results);
  if (std::ranges::any_of(experiment.cures, [](const Cure& cure) { return cure.bit_errors > 0; }))
    text += bit_error_table(results);
  text += delay_text(experiment.setting.delay_ms, results);
  text += fmt::format("\nA slice alone takes {:.1f} ms through its port.\n\n",
                      results.empty() ? 0 : results.front().figures.serialisation_ms);
  if (options.loss_free) {
    text +=
        "Each row is the run with the largest load without a dropped frame (G_mlf), by bisection. "
        "Retransmissions alone are not a loss: TCP also retransmits late segments.\n";
    for (const ExperimentResult& result : results) {
      if (result.figures.is_loss_free()) continue;
      text += fmt::format(
          "\n- No load without losses: {} at {:g}; its row is the least load, {:.1f} % of theory{}.\n",
          label_of(result.point), result.point.x, kPercent * result.point.setting.load,
          result.figures.drops > 0 ? std::string()
                                   : fmt::format(", with {:.0f} frames dropped where no port counts them",
                                                 result.figures.other_drops));
    }
  } else {
    for (const ExpectationVerdict& verdict : verdicts_of(experiment, results)) text += verdict_line(verdict);
  }
  text += fmt::format("\nDifferences: {}\n", experiment.differs);
  return text;
}

}  // namespace weir::bench
