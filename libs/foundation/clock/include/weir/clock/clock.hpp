#pragma once

#include <weir/base/time.hpp>

// The system's clocks, for adapters. Pure machines receive the time as an argument. Thread-safe.
namespace weir {

// Returns CLOCK_MONOTONIC in ns: the same for all processes of a host, until it reboots.
[[nodiscard]] TimeNs monotonic_now_ns();
// Returns CLOCK_MONOTONIC without the time in which this process was paused (AwakeClock), in ns. For what
// judges others by time. Requires: the process has a loop that reads it at least every AwakeClock::kGapMax.
[[nodiscard]] TimeNs awake_now_ns();
// Returns what awake_now_ns() has left out so far.
[[nodiscard]] DurationNs left_out_ns();
// Returns CLOCK_REALTIME in ns since 1970; may jump.
[[nodiscard]] UtcNs utc_now_ns();

[[nodiscard]] inline double monotonic_now_s() {
  return static_cast<double>(monotonic_now_ns()) / static_cast<double>(kSecond);
}

}  // namespace weir
