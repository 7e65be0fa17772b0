// The paper's statements: criteria, measured values, verdicts. Pure.
#include "verdicts.hpp"

#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

namespace weir::bench {
namespace {

// A quantity's name, its key in the figures, and how it is written.
struct QuantityText {
  const char* name;
  const char* key;
  double factor;
  int digits;
  const char* unit;
  bool is_time = false;
};
QuantityText words_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::share:
      return {"goodput, of theory", "share_of_theory", kPercent, 0, " %"};
    case Quantity::sustained:
      return {"slices built, of those offered", "_sustained", kPercent, 0, " %"};
    case Quantity::mean_ms:
      return {"mean latency", "mean_ms", 1, 1, " ms", true};
    case Quantity::min_ms:
      return {"shortest latency", "min_ms", 1, 1, " ms", true};
    case Quantity::max_ms:
      return {"longest latency", "max_ms", 1, 1, " ms", true};
    case Quantity::p50_ms:
      return {"median latency of all slices", "p50_ms", 1, 1, " ms", true};
    case Quantity::p99_ms:
      return {"p99 of the latency", "p99_ms", 1, 1, " ms", true};
    case Quantity::over_serialisation:
      return {"mean latency, over the time of a slice alone", "_over_serialisation", 1, 2, ""};
    case Quantity::fragment_mean_ms:
      return {"mean delay of fragments", "fragment_mean_ms", 1, 1, " ms", true};
    case Quantity::fragment_p99_ms:
      return {"p99 of the fragments' delays", "fragment_p99_ms", 1, 1, " ms", true};
    case Quantity::fragment_max_ms:
      return {"longest delay of a fragment", "fragment_max_ms", 1, 1, " ms", true};
    case Quantity::slow:
      return {"slices of 200 ms or more", "slow_share", kPercent, 0, " %"};
    case Quantity::drops:
      return {"frames dropped", "drops", 1, 0, ""};
    case Quantity::retransmitted:
      return {"retransmitted segments", "retransmitted", kPercent, 2, " %"};
    case Quantity::rate:
      return {"slices per second", "sustained_hz", 1, 0, " Hz"};
    case Quantity::source_least:
      return {"use of the link of the source that sends least", "source_least", kPercent, 1, " %"};
    case Quantity::source_most:
      return {"use of the link of the source that sends most", "source_most", kPercent, 1, " %"};
    case Quantity::idle_gaps:
      return {"times of 175 ms or more in which the link is idle", "idle_gaps", 1, 0, ""};
    case Quantity::early_requests:
      return {"requests in the first quarter of a collection", "early_requests", kPercent, 0, " %"};
    case Quantity::queue_kb:
      return {"longest queue", "longest_queue_kb", 1, 1, " kB"};
    case Quantity::before_cut:
      return {"goodput before the cut, of theory", "before_cut", kPercent, 1, " %"};
    case Quantity::unaffected:
      return {"lowest half second of the unaffected DCMs, of before", "unaffected", kPercent, 1, " %"};
    case Quantity::in_cut:
      return {"goodput 1.5 s after the cut until its end, of before", "in_cut", kPercent, 1, " %"};
    case Quantity::after_cut:
      return {"goodput after the DCMs' return, of before", "after_cut", kPercent, 1, " %"};
    case Quantity::gap_s:
      return {"longest time without data of a readout", "gap_s", 1, 2, " s"};
    case Quantity::wrong_moves:
      return {"DCMs that moved without need, or did not move and return", "wrong_moves", 1, 0, ""};
    case Quantity::resent_before:
      return {"segments sent again before the cut", "resent_before", 1, 0, ""};
    case Quantity::lost:
      return {"missing fragments and discarded slices", "lost", 1, 0, ""};
    case Quantity::apart_s:
      return {"shortest time between two moves of a DCM", "apart_s", 1, 2, " s"};
  }
  return {};
}

bool is_ratio(const Expectation& expectation) {
  return !expectation.over.empty() || !std::isnan(expectation.over_x);
}

bool has_criterion(const Expectation& expectation) {
  return expectation.cannot.empty() && expectation.open.empty();
}

bool matches(const Expectation& expectation, const ExperimentResult& result) {
  const ExperimentPoint& point = result.point;
  return (expectation.cure.empty() || expectation.cure == point.cure.label) && expectation.tcp == point.tcp &&
         point.x >= expectation.x_from && point.x <= expectation.x_to;
}

std::string value_text(const Expectation& expectation, double value) {
  if (is_ratio(expectation)) return fmt::format("{:.2f} times", value);
  const QuantityText text = words_of(expectation.quantity);
  return fmt::format("{:.{}f}{}", text.factor * value, text.digits, text.unit);
}

// Returns nothing if the quantity was not measured, or is a ratio to a run that is missing.
std::optional<double> compared_value_of(const Expectation& expectation, const ExperimentResult& result,
                                        const std::vector<ExperimentResult>& results) {
  const auto* const found = result.figures.if_contains(words_of(expectation.quantity).key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  const double value = value_of(expectation.quantity, result.figures);
  if (!is_ratio(expectation)) return value;
  const auto other = std::ranges::find_if(results, [&](const ExperimentResult& one) {
    return one.run == result.run && one.point.tcp == result.point.tcp &&
           one.point.cure.label == (expectation.over.empty() ? result.point.cure.label : expectation.over) &&
           one.point.x == (std::isnan(expectation.over_x) ? result.point.x : expectation.over_x);
  });
  if (other == results.end()) return std::nullopt;
  const double divisor = value_of(expectation.quantity, other->figures);
  return divisor <= 0 ? std::nullopt : std::optional(value / divisor);
}

std::string range_text(double from, double to) {
  if (std::isinf(from) && std::isinf(to)) return {};
  if (from == to) return fmt::format(" at {:g}", from);
  if (std::isinf(from)) return fmt::format(" up to {:g}", to);
  return std::isinf(to) ? fmt::format(" from {:g}", from) : fmt::format(" from {:g} to {:g}", from, to);
}

// "10 x 6 ms / 1.3"
std::string origin_text(const Expectation& expectation, double factor, double bound) {
  if (expectation.within <= 0) return fmt::format("{:g} x {:.4g} ms", factor, bound);
  return fmt::format("{:g} x {:g} ms {} {:g}", factor, expectation.paper_value,
                     bound < expectation.paper_value ? "/" : "x", expectation.within);
}

std::string criterion_text(const ExpectationVerdict& verdict) {
  const Expectation& expectation = *verdict.expectation;
  const QuantityText words = words_of(expectation.quantity);
  const double factor = words.is_time && !is_ratio(expectation) ? verdict.times_factor : 1;
  std::string bounds;
  const auto add = [&](const char* which, double bound) {
    if (!std::isfinite(bound)) return;
    bounds +=
        fmt::format("{} {} {}", bounds.empty() ? "" : ",", which, value_text(expectation, factor * bound));
    if (factor != 1) bounds += " (" + origin_text(expectation, factor, bound) + ")";
  };
  add("at least", expectation.least);
  add("at most", expectation.most);
  if (!expectation.over.empty()) bounds += " those of " + expectation.over;
  if (!std::isnan(expectation.over_x)) bounds += fmt::format(" that at {:g}", expectation.over_x);
  return words.name + bounds + range_text(expectation.x_from, expectation.x_to);
}

std::string measured_text(const ExpectationVerdict& verdict) {
  std::string text;
  for (const ExpectationRun& run : verdict.runs) {
    const std::string low = value_text(*verdict.expectation, run.least);
    const std::string high = value_text(*verdict.expectation, run.most);
    text += fmt::format("{}{}", text.empty() ? "" : "; ", low == high ? low : low + " to " + high);
  }
  return text.empty() ? "-" : text;
}

// `unjudged`: why nothing is judged; empty: it is.
std::string verdict_word(const ExpectationVerdict& verdict, const std::string& unjudged) {
  const Expectation& expectation = *verdict.expectation;
  if (!expectation.cannot.empty()) return "cannot appear here, because " + expectation.cannot;
  if (!expectation.open.empty()) return "open in the paper: " + expectation.open;
  if (!verdict.measured()) return "not measured";
  if (!unjudged.empty()) return "no verdict: " + unjudged;
  if (verdict.differs()) return "not met: the runs differ";
  return verdict.met() ? "met" : "not met";
}

std::string agreement_text(const std::vector<ExpectationVerdict>& verdicts, std::uint32_t runs, bool busy) {
  if (runs < 2) return "A single run: whether its shape repeats is not known.\n";
  const auto differ = std::ranges::count_if(verdicts, &ExpectationVerdict::differs);
  if (differ > 0)
    return fmt::format("The shape differed between the {} runs: in {} of {} statements.\n", runs, differ,
                       verdicts.size());
  return fmt::format("{} runs of the whole figure, with the same shape{}.\n", runs,
                     busy ? "" : ": each statement has the same verdict in all of them");
}

bool is_saturated(const ExperimentResult& result, unsigned cores) {
  const RunConditions around = conditions_of({result.figures});
  const bool others_gave_way =
      around.others > kBusyShare && around.withheld >= 0 && around.withheld <= kBusyShare;
  return !result.point.cores_limit && result.point.setting.spinners == 0 && cores > 0 && !others_gave_way &&
         number_of(result.figures, "cpu_s_per_s") >= kSaturatedShare * cores;
}

// Returns why nothing is judged; empty: some runs are.
std::string unjudged_of(const RunConditions& conditions, std::size_t busy_runs, std::uint32_t runs) {
  if (!conditions.is_known()) return "the load was not recorded";
  const bool busy = busy_runs == 0 ? conditions.is_busy() : busy_runs == runs;
  return busy ? "the machine was busy" : "";
}

}  // namespace

std::set<std::uint32_t> busy_runs_of(const std::vector<ExperimentResult>& results,
                                     const RunConditions& conditions) {
  std::set<std::uint32_t> runs;
  for (const ExperimentResult& result : results) {
    if (conditions_of({result.figures}).is_busy() || is_saturated(result, conditions.cores()))
      runs.insert(result.run);
  }
  return runs;
}

double value_of(Quantity quantity, const Line& figures) { return number_of(figures, words_of(quantity).key); }

bool ExpectationVerdict::met() const { return measured() && std::ranges::all_of(runs, &ExpectationRun::met); }

bool ExpectationVerdict::differs() const { return std::ranges::any_of(runs, &ExpectationRun::met) && !met(); }

std::vector<ExpectationVerdict> verdicts_of(const Experiment& experiment,
                                            const std::vector<ExperimentResult>& results, double scale) {
  std::vector<ExpectationVerdict> verdicts;
  for (const Expectation& expectation : experiment.expectations) {
    ExpectationVerdict& verdict = verdicts.emplace_back();
    verdict.expectation = &expectation;
    if (experiment.scaling.triggers) verdict.times_factor = 1 / scale;
    if (!has_criterion(expectation)) continue;
    for (const ExperimentResult& result : results) {
      if (!matches(expectation, result)) continue;
      const auto value = compared_value_of(expectation, result, results);
      if (!value) continue;
      auto run = std::ranges::find(verdict.runs, result.run, &ExpectationRun::run);
      if (run == verdict.runs.end())
        run = verdict.runs.insert(verdict.runs.end(), {result.run, false, *value, *value});
      run->least = std::min(run->least, *value);
      run->most = std::max(run->most, *value);
    }
    const bool timed = words_of(expectation.quantity).is_time && !is_ratio(expectation);
    const double factor = timed ? verdict.times_factor : 1;
    for (ExpectationRun& run : verdict.runs)
      run.met = run.least >= factor * expectation.least && run.most <= factor * expectation.most;
  }
  return verdicts;
}

std::string statements_text(const Experiment& experiment, const std::vector<ExperimentResult>& results,
                            double scale, const RunConditions& conditions) {
  std::uint32_t runs = 0;
  for (const ExperimentResult& result : results) runs = std::max(runs, result.run);
  const std::set<std::uint32_t> busy_runs = busy_runs_of(results, conditions);
  const std::string unjudged = unjudged_of(conditions, busy_runs.size(), runs);
  std::vector<ExperimentResult> judged_results;
  std::ranges::copy_if(results, std::back_inserter(judged_results), [&](const ExperimentResult& result) {
    return !unjudged.empty() || !busy_runs.contains(result.run);
  });
  const auto verdicts = verdicts_of(experiment, judged_results, scale);
  if (verdicts.empty()) return {};
  std::string text = "## Statements of the paper\n\n";
  if (!conditions.is_known()) {
    text += "The load of the machine was not recorded, so nothing is judged.\n\n";
  } else if (!unjudged.empty()) {
    text +=
        "Other programs held cores before or after a run, or all cores were in use during it, so nothing is "
        "judged.\n\n";
  } else if (!busy_runs.empty()) {
    text += fmt::format(
        "Not judged: run {}, because other programs held cores before or after a point of it, or all cores "
        "were in use during one.\n\n",
        fmt::join(busy_runs, ", "));
    runs -= static_cast<std::uint32_t>(busy_runs.size());
  }
  text += agreement_text(verdicts, runs, !unjudged.empty()) +
          "\n| verdict | rows | the paper | criterion | here |\n| --- | --- | --- | --- | --- |\n";
  for (const ExpectationVerdict& verdict : verdicts) {
    const Expectation& expectation = *verdict.expectation;
    const bool judged = has_criterion(expectation);
    text += fmt::format("| {} | {}{}{} TCP | {}: {} | {} | {} |\n", verdict_word(verdict, unjudged),
                        expectation.cure, expectation.cure.empty() ? "" : ", ", name_of(expectation.tcp),
                        expectation.at, expectation.paper, judged ? criterion_text(verdict) : "-",
                        judged ? measured_text(verdict) : "-");
  }
  return text;
}

}  // namespace weir::bench
