// Verdicts, the table and the lines of an experiment. Pure.
#include "units.hpp"
#include <weir/bench/experiment.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weir::bench {
namespace {

namespace json = boost::json;

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
    default:
      return point.x;
  }
}

bool matches(const Expectation& expectation, const ExperimentResult& result) {
  const ExperimentPoint& point = result.point;
  return (expectation.cure.empty() || expectation.cure == point.cure.label) && expectation.tcp == point.tcp &&
         point.x >= expectation.x_from && point.x <= expectation.x_to;
}

bool is_share(Quantity quantity) {
  return quantity == Quantity::share || quantity == Quantity::sustained || quantity == Quantity::slow;
}

std::string value_text(Quantity quantity, double value) {
  if (is_share(quantity)) return fmt::format("{:.0f} %", kPercent * value);
  if (quantity == Quantity::drops) return fmt::format("{:.0f}", value);
  return fmt::format("{:.1f} ms", value);
}

std::string verdict_line(const ExpectationVerdict& verdict) {
  const Expectation& expectation = *verdict.expectation;
  const std::string about =
      fmt::format("{}{}{} TCP: {}", expectation.cure, expectation.cure.empty() ? "" : ", ",
                  name_of(expectation.tcp), expectation.paper);
  if (!verdict.measured) return fmt::format("- not measured: {}\n", about);
  std::string bounds;
  if (std::isfinite(expectation.least))
    bounds += " at least " + value_text(expectation.quantity, expectation.least);
  if (std::isfinite(expectation.most))
    bounds +=
        (bounds.empty() ? " at most " : ", at most ") + value_text(expectation.quantity, expectation.most);
  const std::string low = value_text(expectation.quantity, verdict.least);
  const std::string high = value_text(expectation.quantity, verdict.most);
  return fmt::format("- {}: {}. Criterion: {}{}; measured {}\n", verdict.met ? "met" : "NOT met", about,
                     name_of(expectation.quantity), bounds, low == high ? low : low + " to " + high);
}

std::string scale_text(const Experiment& experiment, double scale) {
  std::string scaled;
  const auto add = [&](bool one, const char* name) {
    if (one) scaled += (scaled.empty() ? "" : ", ") + std::string(name);
  };
  add(experiment.scaling.rates, "link rates");
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
    case Quantity::p99_ms:
      return "p99 of the latency";
    case Quantity::slow:
      return "slices of 200 ms or more";
    case Quantity::drops:
      return "frames dropped";
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
    case Quantity::p99_ms:
      return p99_ms;
    case Quantity::slow:
      return slow;
    case Quantity::drops:
      return drops;
  }
  return 0;
}

void LossFreeSearch::measured(bool loss_free) {
  (loss_free ? low_ : high_) = next_;
  next_ = (low_ + high_) / 2;
  ++steps_;
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
      const double value = result.figures.of(expectation.quantity);
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
  return json::serialize(
      json::object{{"bench", "experiment"},
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
                   {"retransmits_per_s", four_digits(figures.retransmits_per_s)},
                   {"cpu_s_per_s", four_digits(figures.cpu)},
                   {"histogram_ms", std::move(histogram)}});
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
  text += fmt::format("\nA slice alone takes {:.1f} ms through its port.\n\n",
                      results.empty() ? 0 : results.front().figures.serialisation_ms);
  if (options.loss_free) {
    text +=
        "Each row is the run with the largest load without a drop or a retransmission (G_mlf), by "
        "bisection.\n";
  } else {
    for (const ExpectationVerdict& verdict : verdicts_of(experiment, results)) text += verdict_line(verdict);
  }
  text += fmt::format("\nDifferences: {}\n", experiment.differs);
  return text;
}

}  // namespace weir::bench
