#pragma once

#include <weir/assignment/trigger_source.hpp>
#include <weir/base/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

enum class RunPhase : std::uint8_t {
  waiting,     // for start()
  triggering,  // slices begin
  finishing,   // no further triggers; the run continues until it is stopped
  stopping     // likewise, and slices in flight have a limited time to be settled
};

// The phases and times of a run: its begin, its pauses, the end of its triggers, and its drain. Pure; one
// thread.
class RunClock {
 public:
  // `duration_ns`: time of triggering, 0: no limit. `drain_ns`: longest time without a settled slice after
  // stop().
  RunClock(DurationNs duration_ns, DurationNs drain_ns) : duration_ns_(duration_ns), drain_ns_(drain_ns) {}

  void start(const Now& now);
  // Call after start(): restores a run that another process began at `begun_utc`, `already` ago, with these
  // pauses.
  void resume(DurationNs already, UtcNs begun_utc, bool paused, DurationNs paused_ns);
  // No triggers are made while the run is paused; pauses do not count for the duration. A stopping run cannot
  // be paused. Repeated calls have no effect.
  void pause(TimeNs now);
  void continue_run(TimeNs now);
  void end_triggers();  // no effect if they have ended
  // Ends a pause, and the triggers. The drain ends after `limit` at the latest; in a stopping run a further
  // call can only shorten it. Requires: start() was called.
  void stop(TimeNs now, DurationNs limit = kNoLimit);
  static constexpr DurationNs kNoLimit = INT64_MAX;
  void slice_settled() { progressed_ = true; }

  [[nodiscard]] RunPhase phase() const { return phase_; }
  [[nodiscard]] bool started() const { return phase_ != RunPhase::waiting; }
  [[nodiscard]] bool stopping() const { return phase_ == RunPhase::stopping; }
  [[nodiscard]] bool triggers_done() const { return phase_ >= RunPhase::finishing; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] DurationNs paused_ns(TimeNs now) const;  // total since start()
  [[nodiscard]] Now begun() const {
    return {started_at_, begun_utc_};
  }  // of the run, including earlier processes
  [[nodiscard]] bool triggered_long_enough(TimeNs now) const;
  // Returns when triggers end; INT64_MAX: never, or not while the run is paused.
  [[nodiscard]] TimeNs triggers_until(TimeNs now) const;
  // True if the run is stopping, and no slice was settled for too long or the limit of stop() is over.
  // Requires: one call per pass.
  [[nodiscard]] bool drained_too_long(TimeNs now);
  [[nodiscard]] TimeNs drains_until() const { return std::min(drain_deadline_, drain_limit_); }
  // Version of the pause state.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // For SupervisorMachine::append_state().
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  void enter(RunPhase phase);

  DurationNs duration_ns_;
  DurationNs drain_ns_;
  RunPhase phase_ = RunPhase::waiting;
  TimeNs started_at_ = 0;
  UtcNs begun_utc_ = 0;
  bool paused_ = false;
  TimeNs paused_since_ = 0;
  DurationNs paused_before_ = 0;  // finished pauses
  std::uint32_t number_ = 0;
  TimeNs drain_deadline_ = 0;
  TimeNs drain_limit_ = INT64_MAX;
  bool progressed_ = false;  // a slice was settled since the last pass
};

}  // namespace weir::assignment
