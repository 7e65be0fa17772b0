#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <deque>
#include <optional>

namespace weir::control {

// Limits beyond which the flow of triggers is reported. A rule of the farm file with the same condition
// replaces the value.
struct FlowLimits {
  std::optional<DurationNs>
      no_triggers_ns;        // nothing: the larger of kSilentMin and kSilentGaps times the mean interval
  double expected_rate = 0;  // Hz, of the farm file; 0: unknown, only the measured mean counts
  double rate_below = 0.3;   // of the mean rate
  double livetime_below = 0.5;
};

// How triggers arrive in a run, from the supervisor's reports: their rate now and over the last minutes, the
// time since the last one, and the share of live time. Pure; times ascend.
class TriggerFlow {
 public:
  struct Counts {
    RunNumber run;
    std::uint64_t offered = 0;  // triggers, vetoed ones included
    DurationNs lost_ns = 0;     // livetime
    TimeNs at_ns = 0;           // of the report, on the supervisor's clock
  };
  // Adds counts. Another run, or fewer triggers than before, starts anew. A repeated report changes nothing.
  void take(const Counts& counts, TimeNs now);
  // Forgets all samples. Called after a time without reports, or in a pause: the next report starts anew.
  void clear() { *this = {}; }

  // Returns the time from the last trigger, or from the first report without one, to the last report. The
  // time since then is unknown.
  [[nodiscard]] DurationNs silent_ns() const { return taken_at_ - triggered_at_; }
  [[nodiscard]] bool is_known() const { return !looks_.empty(); }
  [[nodiscard]] bool had_triggers() const { return had_triggers_; }
  // Return triggers per second in the last kRecent, and in the kMean before. Nothing: not enough history.
  [[nodiscard]] std::optional<double> rate() const;
  [[nodiscard]] std::optional<double> mean_rate() const;
  // Returns the live share of the last kRecent. Nothing: fewer than two reports.
  [[nodiscard]] std::optional<double> live_share() const;

  // True if a figure is beyond its limit.
  [[nodiscard]] bool is_silent(const FlowLimits& limits) const;
  [[nodiscard]] bool is_slow(const FlowLimits& limits) const;
  [[nodiscard]] bool is_dead(const FlowLimits& limits) const;

  static constexpr DurationNs kRecent = 10 * kSecond;
  static constexpr DurationNs kMean = 300 * kSecond;
  static constexpr DurationNs kMeanMin = 20 * kSecond;  // minimum history for a mean
  static constexpr DurationNs kSilentMin = 3 * kSecond;
  static constexpr double kSilentGaps = 20;
  static constexpr double kSlowMin = 30;  // minimum triggers in kRecent by the mean, for judging a low rate
  static constexpr DurationNs kDeadMin =
      2 * kSecond;  // minimum time between reports for judging the live share

 private:
  struct Look {
    TimeNs at = 0;  // on the supervisor's clock
    std::uint64_t offered = 0;
    DurationNs lost = 0;
  };
  // Returns the oldest sample of at most this age, of those before `last`.
  [[nodiscard]] const Look* look_before(DurationNs age) const;

  RunNumber run_;
  std::deque<Look> looks_;
  TimeNs taken_at_ = 0;
  TimeNs triggered_at_ = 0;
  bool had_triggers_ = false;
};

}  // namespace weir::control
