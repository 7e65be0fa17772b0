#include <weir/control/trigger_flow.hpp>

#include <algorithm>

namespace weir::control {
namespace {

double in_seconds(DurationNs time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

}  // namespace

void TriggerFlow::take(const Counts& counts, TimeNs now) {
  if (counts.run != run_ || (!looks_.empty() && counts.offered < looks_.back().offered)) {
    clear();
    run_ = counts.run;
  }
  if (!looks_.empty() && counts.at_ns <= looks_.back().at) return;
  if (looks_.empty() || counts.offered != looks_.back().offered) triggered_at_ = now;
  taken_at_ = now;
  had_triggers_ = had_triggers_ || counts.offered > 0;
  looks_.push_back({counts.at_ns, counts.offered, counts.lost_ns});
  while (counts.at_ns - looks_.front().at > kMean + kRecent) looks_.pop_front();
}

const TriggerFlow::Look* TriggerFlow::look_before(DurationNs age) const {
  if (looks_.size() < 2) return nullptr;
  const TimeNs from = looks_.back().at - age;
  const auto found =
      std::find_if(looks_.begin(), looks_.end(), [from](const Look& one) { return one.at >= from; });
  return found == looks_.end() || found == looks_.end() - 1 ? nullptr : &*found;
}

std::optional<double> TriggerFlow::rate() const {
  const Look* first = look_before(kRecent);
  if (first == nullptr) return std::nullopt;
  return static_cast<double>(looks_.back().offered - first->offered) /
         in_seconds(looks_.back().at - first->at);
}

std::optional<double> TriggerFlow::mean_rate() const {
  const Look* last = look_before(kRecent);
  if (last == nullptr || last->at - looks_.front().at < kMeanMin) return std::nullopt;
  return static_cast<double>(last->offered - looks_.front().offered) /
         in_seconds(last->at - looks_.front().at);
}

std::optional<double> TriggerFlow::live_share() const {
  const Look* first = look_before(kRecent);
  if (first == nullptr || looks_.back().at - first->at < kDeadMin) return std::nullopt;
  const double lost = in_seconds(looks_.back().lost - first->lost);
  return std::clamp(1 - lost / in_seconds(looks_.back().at - first->at), 0.0, 1.0);
}

bool TriggerFlow::is_silent(const FlowLimits& limits) const {
  if (looks_.empty()) return false;
  DurationNs limit = kSilentMin;
  if (limits.no_triggers_ns) {
    limit = *limits.no_triggers_ns;
  } else if (const double usual = mean_rate().value_or(0) > 0 ? *mean_rate() : limits.expected_rate;
             usual > 0) {
    limit = std::max(limit, static_cast<DurationNs>(kSilentGaps / usual * static_cast<double>(kSecond)));
  }
  return silent_ns() >= limit;
}

bool TriggerFlow::is_slow(const FlowLimits& limits) const {
  const auto now = rate();
  const auto mean = mean_rate();
  return now && mean && *mean * in_seconds(kRecent) >= kSlowMin && *now < limits.rate_below * *mean;
}

bool TriggerFlow::is_dead(const FlowLimits& limits) const {
  const auto live = live_share();
  return live && *live < limits.livetime_below;
}

}  // namespace weir::control
