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
  finishing,   // no trigger will come any more; the run goes on until it is stopped
  stopping     // likewise, and what is in flight has so long to be settled
};

// The phases of a run and its times: when it began, how long it was paused, whether it has triggered for long
// enough, and until when it drains. Pure; one thread.
class RunClock {
 public:
  // `duration_ns`: of triggering, 0: no limit. `drain_ns`: without a slice settled, after stop().
  RunClock(DurationNs duration_ns, DurationNs drain_ns) : duration_ns_(duration_ns), drain_ns_(drain_ns) {}

  void start(const Now& now);
  // After start(): another process began the run at `begun_utc`, `already` ago, and left its pauses like
  // this.
  void go_on(DurationNs already, UtcNs begun_utc, bool paused, DurationNs paused_ns);
  // No trigger while it is paused; that time does not count for the duration. A run that stops is not paused,
  // and what is so already changes nothing.
  void pause(TimeNs now);
  void proceed(TimeNs now);
  void end_triggers();  // changes nothing when they have ended
  // Ends a pause, and triggers. The drain ends `limit` from now at the latest, whatever is settled; in a run
  // that stops already a limit can only bring its end forward. Requires: start() before (an assert).
  void stop(TimeNs now, DurationNs limit = kNoLimit);
  static constexpr DurationNs kNoLimit = INT64_MAX;
  void slice_settled() { progressed_ = true; }

  [[nodiscard]] RunPhase phase() const { return phase_; }
  [[nodiscard]] bool started() const { return phase_ != RunPhase::waiting; }
  [[nodiscard]] bool stopping() const { return phase_ == RunPhase::stopping; }
  [[nodiscard]] bool triggers_done() const { return phase_ >= RunPhase::finishing; }
  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] DurationNs paused_ns(TimeNs now) const;  // altogether, since start()
  [[nodiscard]] Now begun() const {
    return {started_at_, begun_utc_};
  }  // of the run, whatever process began it
  [[nodiscard]] bool triggered_long_enough(TimeNs now) const;
  // When it will have; INT64_MAX: never, or not before it proceeds.
  [[nodiscard]] TimeNs triggers_until(TimeNs now) const;
  // True if the run stops, and nothing was settled for so long or the limit of stop() is over. Requires: one
  // call a pass.
  [[nodiscard]] bool drained_too_long(TimeNs now);
  [[nodiscard]] TimeNs drains_until() const { return std::min(drain_deadline_, drain_limit_); }
  // Changes with each pause, and its end.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  // SupervisorMachine::append_state()
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
  DurationNs paused_before_ = 0;  // in pauses that are over
  std::uint32_t number_ = 0;
  TimeNs drain_deadline_ = 0;
  TimeNs drain_limit_ = INT64_MAX;
  bool progressed_ = false;  // a slice was settled since the last pass
};

}  // namespace weir::assignment
