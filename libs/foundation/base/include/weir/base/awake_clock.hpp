#pragma once

#include <weir/base/time.hpp>

#include <algorithm>
#include <optional>

namespace weir {

// Clock of a process that stands still while the process is paused: by SIGSTOP, a batch system, a debugger, a
// frozen container or virtual machine. A paused process does not receive, so the silence that it finds is its
// own. Of the time between two readings kGapMax counts, and the rest is left out: each timer that is set by
// this clock is put off by the pause. Pure.
class AwakeClock {
 public:
  // More than a loop waits between two readings, less than a process may be silent for.
  static constexpr DurationNs kGapMax = 250 * kMillisecond;

  // Returns this clock's reading at the time `now_ns` of the monotonic clock. Never decreases.
  TimeNs at(TimeNs now_ns) {
    if (!begun_) seen_ns_ = now_ns;
    begun_ = true;
    left_out_ns_ += std::max<DurationNs>(0, now_ns - seen_ns_ - kGapMax);
    seen_ns_ = std::max(seen_ns_, now_ns);
    return seen_ns_ - left_out_ns_;
  }
  // Returns how far this clock is behind the monotonic one.
  [[nodiscard]] DurationNs left_out_ns() const { return left_out_ns_; }

 private:
  bool begun_ = false;
  TimeNs seen_ns_ = 0;
  DurationNs left_out_ns_ = 0;
};

// Finds the pauses that are to be reported. Pure.
class PauseWatch {
 public:
  static constexpr DurationNs kReportedMin = 2 * kSecond;

  // Takes left_out_ns() of the clock. Returns the length of a pause since the last call.
  [[nodiscard]] std::optional<DurationNs> look(DurationNs left_out_ns) {
    const DurationNs pause = left_out_ns - left_out_ns_ + AwakeClock::kGapMax;
    left_out_ns_ = left_out_ns;
    if (pause < kReportedMin) return std::nullopt;
    return pause;
  }

 private:
  DurationNs left_out_ns_ = 0;
};

}  // namespace weir
