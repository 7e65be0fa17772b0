#include <weir/assignment/run_clock.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/transitions.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {
namespace {

constexpr Transitions kPhaseTransitions({
    Transition<RunPhase>{RunPhase::waiting, RunPhase::triggering},
    {RunPhase::triggering, RunPhase::finishing},
    {RunPhase::triggering, RunPhase::stopping},
    {RunPhase::finishing, RunPhase::stopping},
});

}  // namespace

void RunClock::enter(RunPhase phase) {
  WEIR_ASSERT(kPhaseTransitions.allow(phase_, phase));
  phase_ = phase;
}

void RunClock::start(const Now& now) {
  enter(RunPhase::triggering);
  started_at_ = paused_since_ = now.mono;
  begun_utc_ = now.utc;
}

void RunClock::resume(DurationNs already, UtcNs begun_utc, bool paused, DurationNs paused_ns) {
  WEIR_ASSERT(phase_ == RunPhase::triggering);
  started_at_ -= already;
  begun_utc_ = begun_utc;
  paused_ = paused;
  paused_before_ = paused_ns;
}

void RunClock::pause(TimeNs now) {
  if (paused_ || stopping()) return;
  paused_ = true;
  paused_since_ = now;
  ++number_;
}

void RunClock::continue_run(TimeNs now) {
  if (!paused_) return;
  WEIR_ASSERT(now >= paused_since_);
  paused_before_ = paused_ns(now);
  paused_ = false;
  ++number_;
}

void RunClock::end_triggers() {
  if (!triggers_done()) enter(RunPhase::finishing);
}

void RunClock::stop(TimeNs now, DurationNs limit) {
  if (limit != kNoLimit) drain_limit_ = std::min(drain_limit_, now + limit);
  if (stopping()) return;
  continue_run(now);
  enter(RunPhase::stopping);
  drain_deadline_ = now + drain_ns_;
}

DurationNs RunClock::paused_ns(TimeNs now) const {
  return paused_before_ + (paused_ && started() ? now - paused_since_ : 0);
}

bool RunClock::triggered_long_enough(TimeNs now) const {
  return duration_ns_ > 0 && now - started_at_ - paused_ns(now) >= duration_ns_;
}

TimeNs RunClock::triggers_until(TimeNs now) const {
  if (duration_ns_ == 0 || paused_) return INT64_MAX;
  return started_at_ + duration_ns_ + paused_ns(now);
}

bool RunClock::drained_too_long(TimeNs now) {
  if (std::exchange(progressed_, false)) drain_deadline_ = now + drain_ns_;
  return stopping() && now >= drains_until();
}

void RunClock::append_state(TimeNs now, std::vector<std::uint64_t>& out) const {
  out.push_back(2U * static_cast<std::uint64_t>(phase_) + (paused_ ? 1U : 0U));
  const DurationNs triggered = now - started_at_ - paused_ns(now);
  const bool ends_by_time = duration_ns_ > 0 && phase_ == RunPhase::triggering;
  out.push_back(ends_by_time ? static_cast<std::uint64_t>(std::min(triggered, duration_ns_)) : 0);
}

}  // namespace weir::assignment
