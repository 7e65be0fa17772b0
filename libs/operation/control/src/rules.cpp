#include <weir/base/held_up.hpp>
#include <weir/control/rules.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::control {
namespace {

constexpr double kPercent = 100;

bool is_of(const RulesView::Process& process, const std::vector<std::string>& of) {
  return of.empty() || std::any_of(of.begin(), of.end(), [&](const std::string& one) {
           return one == process.name || one == name(process.role);
         });
}

}  // namespace

Rules::Rules(std::vector<Rule> rules) : rules_(std::move(rules)), tracks_(rules_.size()) {}

std::vector<Firing> Rules::look(const RulesView& view, TimeNs now) {
  measure_livetime(view);
  std::vector<Firing> firings;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    Track& track = tracks_[i];
    if (std::exchange(track.run, view.run) != view.run) track.since.reset();
    std::optional<Holding> holding = holds(rule, view);
    if (!holding) {
      track.since.reset();
      continue;
    }
    if (!track.since) track.since = now;
    const bool spent = rule.times_max != 0 && track.times >= rule.times_max;
    const bool soon = track.fired && now - *track.fired < rule.again_ns;
    if (spent || soon || now - *track.since < rule.for_ns) continue;
    track.fired = now;
    ++track.times;
    firings.push_back({i, std::move(holding->processes), "rule " + rule.name + ": " + holding->why});
  }
  return firings;
}

void Rules::measure_livetime(const RulesView& view) {
  if (measured_run_ != view.run || !view.livetime) {
    measured_run_ = view.run;
    measured_ = view.livetime;
    live_share_.reset();
    return;
  }
  if (!measured_) {
    measured_ = view.livetime;
    return;
  }
  const DurationNs passed = view.livetime->at_ns - measured_->at_ns;
  if (passed <= 0) return;
  const auto lost = static_cast<double>(view.livetime->lost - measured_->lost);
  live_share_ = std::clamp(1 - lost / static_cast<double>(passed), 0.0, 1.0);
  measured_ = view.livetime;
}

std::optional<Rules::Holding> Rules::holds(const Rule& rule, const RulesView& view) const {
  const bool run_is_on = (view.state == State::running || view.state == State::paused) && !view.under_way;
  switch (rule.when) {
    case Condition::process_gone:
    case Condition::process_error:
      return view.state == State::idle || view.under_way ? std::nullopt : processes_hold(rule, view);
    case Condition::reason:
      return run_is_on ? processes_hold(rule, view) : std::nullopt;
    case Condition::run_seconds: {
      const double seconds = static_cast<double>(view.run_ns) / kSecond;
      if (!run_is_on || seconds < rule.value) return std::nullopt;
      return Holding{{}, "the run was started " + std::to_string(std::llround(seconds)) + " s ago"};
    }
    case Condition::livetime_below:
      if (!run_is_on || !live_share_ || *live_share_ >= rule.value) return std::nullopt;
      return Holding{{}, "livetime is " + std::to_string(std::lround(kPercent * *live_share_)) + " %"};
    case Condition::rate_below:
    case Condition::no_triggers_s:
      return run_is_on && view.state == State::running && view.flow ? flow_holds(rule, view) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Rules::Holding> Rules::flow_holds(const Rule& rule, const RulesView& view) const {
  const RulesView::Flow& flow = *view.flow;
  if (rule.when == Condition::no_triggers_s) {
    const double seconds = static_cast<double>(flow.silent_ns) / static_cast<double>(kSecond);
    if (seconds < rule.value) return std::nullopt;
    return Holding{{}, "no trigger for " + std::to_string(std::llround(seconds)) + " s"};
  }
  if (!flow.rate || !flow.mean_rate || *flow.rate >= rule.value * *flow.mean_rate) return std::nullopt;
  return Holding{{},
                 "the trigger rate is " +
                     std::to_string(std::lround(kPercent * *flow.rate / *flow.mean_rate)) + " % of its mean"};
}

std::optional<Rules::Holding> Rules::processes_hold(const Rule& rule, const RulesView& view) const {
  Holding holding;
  std::string names;
  for (std::size_t i = 0; i < view.processes.size(); ++i) {
    const RulesView::Process& process = view.processes[i];
    if (process.removed) continue;
    bool concerned = is_of(process, rule.of);
    if (rule.when == Condition::process_gone) {
      concerned = concerned && !process.live;
    } else if (rule.when == Condition::process_error) {
      concerned = concerned && process.live && process.state == State::error;
    } else {
      // The supervisor reports it about another process: the rule concerns that process.
      concerned =
          concerned && std::any_of(view.processes.begin(), view.processes.end(), [&](const auto& one) {
            const HeldUp held = held_up_of(one.said);
            const std::string_view cause = held.cause.empty() ? std::string_view(one.name) : held.cause;
            return one.live && held.reason == rule.reason && cause == process.name;
          });
    }
    if (!concerned) continue;
    holding.processes.push_back(i);
    names += (names.empty() ? "" : ", ") + process.name;
  }
  if (holding.processes.empty()) return std::nullopt;
  holding.why = names + (rule.when == Condition::process_gone    ? " away"
                         : rule.when == Condition::process_error ? " in error"
                                                                 : " says " + rule.reason);
  return holding;
}

}  // namespace weir::control
