#pragma once

#include <weir/ports/clock.hpp>

#include <limits>

namespace weir::ports {

// Returns UTC at a moment of the monotonic clock, now or shortly before. Two clocks cannot be read at once,
// and a process may stand still between the readings: of up to five, the one that took least time counts.
[[nodiscard]] inline UtcNs utc_at(const Clock& clock, TimeNs at_ns) {
  constexpr DurationNs kAtOnce = 10 * kMicrosecond;
  constexpr int kReadings = 5;
  DurationNs least = std::numeric_limits<DurationNs>::max();
  UtcNs found = 0;
  TimeNs before = clock.now_ns();
  for (int reading = 0; reading < kReadings && least > kAtOnce; ++reading) {
    const UtcNs utc_ns = clock.utc_ns();
    const TimeNs after = clock.now_ns();
    if (after - before < least) {
      least = after - before;
      found = utc_ns - (before + least / 2 - at_ns);
    }
    before = after;
  }
  return found;
}

}  // namespace weir::ports
