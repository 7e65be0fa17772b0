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

// A quantity's name, its key in the figures, and how it is written.
struct QuantityText {
  const char* name;
  const char* key;
  double factor;
  int digits;
  const char* unit;
};
QuantityText words_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::share:
      return {"goodput, of theory", "share_of_theory", kPercent, 0, " %"};
    case Quantity::sustained:
      return {"slices built, of those offered", "_sustained", kPercent, 0, " %"};
    case Quantity::mean_ms:
      return {"mean latency", "mean_ms", 1, 1, " ms"};
    case Quantity::min_ms:
      return {"shortest latency", "min_ms", 1, 1, " ms"};
    case Quantity::max_ms:
      return {"longest latency", "max_ms", 1, 1, " ms"};
    case Quantity::p99_ms:
      return {"p99 of the latency", "p99_ms", 1, 1, " ms"};
    case Quantity::slow:
      return {"slices of 200 ms or more", "slow_share", kPercent, 0, " %"};
    case Quantity::drops:
      return {"frames dropped", "drops", 1, 0, ""};
    case Quantity::retransmitted:
      return {"retransmitted segments", "retransmitted", kPercent, 3, " %"};
    case Quantity::rate:
      return {"slices per second", "sustained_hz", 1, 0, " Hz"};
    case Quantity::source_least:
      return {"use of the link of the source that sends least", "source_least", kPercent, 0, " %"};
    case Quantity::source_most:
      return {"use of the link of the source that sends most", "source_most", kPercent, 0, " %"};
    case Quantity::idle_gaps:
      return {"times of 150 ms or more in which the link is idle", "idle_gaps", 1, 0, ""};
    case Quantity::collection_ms:
      return {"first request to last response", "collection_ms", 1, 1, " ms"};
    case Quantity::early_requests:
      return {"requests in the first quarter of this time", "early_requests", kPercent, 0, " %"};
    case Quantity::queue_kb:
      return {"longest queue", "longest_queue_kb", 1, 0, " kB"};
  }
  return {};
}

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
  const QuantityText text = words_of(quantity);
  return fmt::format("{:.{}f}{}", text.factor * value, text.digits, text.unit);
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
                      fmt::format("{}. Criterion: {}{}{}", about, words_of(expectation.quantity).name, bounds,
                                  expectation.over.empty() ? "" : " those of " + expectation.over),
                      low == high ? low : low + " to " + high);
}

// Returns nothing if the value is a ratio to a run that was not measured.
std::optional<double> compared_value_of(const Expectation& expectation, const ExperimentResult& result,
                                        const std::vector<ExperimentResult>& results) {
  const double value = value_of(expectation.quantity, result.figures);
  if (expectation.over.empty()) return value;
  const auto other = std::ranges::find_if(results, [&](const ExperimentResult& one) {
    return one.point.cure.label == expectation.over && one.point.tcp == result.point.tcp &&
           one.point.x == result.point.x;
  });
  if (other == results.end()) return std::nullopt;
  const double divisor = value_of(expectation.quantity, other->figures);
  return divisor <= 0 ? std::nullopt : std::optional(value / divisor);
}

Column paper_x() {
  return {"paper's x", [](const Line& line) { return fmt::format("{:g}", number_of(line, "x_paper")); }};
}

const Column kLabel = text_column("cure, TCP", "_label");

std::string trace_table(const Lines& lines) {
  return table_of(
      lines, {kLabel, number_column("idle for 150 ms or more", "idle_gaps", 0),
              number_column("first request to last response, ms", "collection_ms", 1),
              number_column("requests in its first quarter, %", "early_requests", 0, kPercent),
              number_column("longest queue, kB", "longest_queue_kb", 1), text_column("at", "_queue_at")});
}

std::string source_table(const Lines& lines) {
  return table_of(
      lines, {kLabel, number_column("link of the source that sends least, %", "source_least", 1, kPercent),
              number_column("most, %", "source_most", 1, kPercent)});
}

// Rows of runs with back-pressure.
std::string pause_table(const Lines& lines) {
  Lines held;
  std::ranges::copy_if(lines, std::back_inserter(held),
                       [](const Line& line) { return text_of(line, "back_pressure") != "none"; });
  if (held.empty()) return {};
  return "\n" + table_of(held, {kLabel, paper_x(), number_column("pauses of the run", "pauses", 0),
                                text_column("port held back longest", "held_at"),
                                number_column("of the run, %", "held_share", 1, kPercent)});
}

std::string bit_error_table(const Lines& lines) {
  const auto rate = [](const Line& line) { return fmt::format("{:g}", number_of(line, "bit_errors")); };
  return table_of(lines, {kLabel,
                          {"bit error rate", rate},
                          number_column("frames lost to it, settling included", "bit_error_losses", 0),
                          number_column("retransmitted segments, %", "retransmitted", 3, kPercent),
                          number_column("longest latency, ms", "max_ms", 1)});
}

// `paper_ms`: the delay in the paper.
std::string delay_text(double paper_ms, const std::vector<ExperimentResult>& results) {
  if (results.empty() || results.front().point.setting.delay_ms == 0) return {};
  double jitter_ms = 0;
  std::string marks;
  for (const auto& [point, figures] : results) {
    const double its_ms = number_of(figures, "jitter_p99_ms");
    jitter_ms = std::max(jitter_ms, its_ms);
    if (!is_set(figures, "inexact_delay")) continue;
    marks += fmt::format(
        "- Jitter above 10 % of the delay: {} at {:g}, {:.2f} ms. This row's delays are not exact.\n",
        label_of(point), point.x, its_ms);
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

double value_of(Quantity quantity, const Line& figures) { return number_of(figures, words_of(quantity).key); }

bool is_loss_free(const Line& figures) {
  if (!is_set(figures, "_knows_drops")) return number_of(figures, "retransmits_per_s") == 0;
  return number_of(figures, "drops") + number_of(figures, "other_drops") == 0;
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
      const auto measured = compared_value_of(expectation, result, results);
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

Line line_of(const Experiment& experiment, const ExperimentResult& result, const ExperimentOptions& options) {
  const ExperimentPoint& point = result.point;
  const ExperimentTimes times = times_of(experiment, options);
  Line line{{"bench", "experiment"},
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
            {"bit_errors", point.cure.bit_errors},
            {"delay_ms", four_digits(point.setting.delay_ms)},
            {"back_pressure", point.cure.back_pressure.empty() ? "none" : point.cure.back_pressure},
            {"_label", label_of(point)}};
  for (const auto& [key, value] : result.figures)
    line[key] = value.is_double() ? json::value(four_digits(value.get_double())) : value;
  if (point.show == Show::bars) line["bars"] = true;
  return line;
}

namespace {

std::vector<Column> columns_of(const Experiment& experiment) {
  std::vector<Column> columns{kLabel};
  if (experiment.vary != Vary::nothing) {
    columns.push_back({fmt::format("{}: paper", name_of(experiment.vary)), paper_x().cell});
    columns.push_back({"ours", [](const Line& line) { return fmt::format("{:.4g}", number_of(line, "x")); }});
  }
  const auto offered = [](const Line& line) {
    const double hz = number_of(line, "offered_hz");
    return hz > 0 ? fmt::format("{:.1f}", hz) : "as built";
  };
  columns.insert(columns.end(), {{"offered, Hz", offered},
                                 number_column("sustained, Hz", "sustained_hz", 1),
                                 number_column("goodput, % of theory", "share_of_theory", 1, kPercent),
                                 number_column("latency mean, ms", "mean_ms", 1),
                                 number_column("sigma", "sigma_ms", 1),
                                 number_column("min", "min_ms", 1),
                                 number_column("p50", "p50_ms", 1),
                                 number_column("p99", "p99_ms", 1),
                                 number_column("200 ms or more, %", "slow_share", 1, kPercent),
                                 number_column("drops", "drops", 0),
                                 text_column("most at", "drops_at")});
  return columns;
}

std::string loss_free_text(const std::vector<ExperimentResult>& results) {
  std::string text =
      "Each row is the run with the largest load without a dropped frame (G_mlf), by bisection. "
      "Retransmissions alone are not a loss: TCP also retransmits late segments.\n";
  for (const auto& [point, figures] : results) {
    if (is_loss_free(figures)) continue;
    text += fmt::format(
        "\n- No load without losses: {} at {:g}; its row is the least load, {:.1f} % of theory{}.\n",
        label_of(point), point.x, kPercent * point.setting.load,
        number_of(figures, "drops") > 0
            ? std::string()
            : fmt::format(", with {:.0f} frames dropped where no port counts them",
                          number_of(figures, "other_drops")));
  }
  return text;
}

}  // namespace

std::string experiment_page(const Experiment& experiment, const std::vector<ExperimentResult>& results,
                            const ExperimentOptions& options, const std::string& machine) {
  const ExperimentTimes times = times_of(experiment, options);
  Lines lines;
  for (const ExperimentResult& result : results) lines.push_back(line_of(experiment, result, options));
  std::string text =
      page_head(fmt::format("Figure {} of the {}", experiment.id, options.bench), options.output,
                fmt::format("{}. {} Settling {:g} s, measuring {:g} s, on {}. Theory is the thesis' formula.",
                            experiment.title, scale_text(experiment, scale_of(experiment, options)),
                            times.settle_s, times.measure_s, machine)) +
      table_of(lines, columns_of(experiment));
  if (needs_trace(experiment.show)) text += "\n" + trace_table(lines);
  if (!experiment.setting.flows.empty()) text += "\n" + source_table(lines);
  text += pause_table(lines);
  if (std::ranges::any_of(experiment.cures, [](const Cure& cure) { return cure.bit_errors > 0; }))
    text += "\n" + bit_error_table(lines);
  text += delay_text(experiment.setting.delay_ms, results);
  text += fmt::format("\nA slice alone takes {:.1f} ms through its port.\n\n",
                      lines.empty() ? 0 : number_of(lines.front(), "serialisation_ms"));
  if (options.loss_free) {
    text += loss_free_text(results);
  } else {
    for (const ExpectationVerdict& verdict : verdicts_of(experiment, results)) text += verdict_line(verdict);
  }
  return text + fmt::format("\nDifferences: {}\n", experiment.differs);
}

}  // namespace weir::bench
