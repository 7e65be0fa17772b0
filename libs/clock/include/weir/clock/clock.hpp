#pragma once

#include <weir/base/time.hpp>

// The system's clocks, for adapters. Pure machines receive the time as an argument. Thread-safe.
namespace weir {

// Returns CLOCK_MONOTONIC in ns: the same for all processes of a host, until it reboots.
[[nodiscard]] TimeNs monotonic_now_ns();
// Returns CLOCK_REALTIME in ns since 1970; may jump.
[[nodiscard]] UtcNs utc_now_ns();

[[nodiscard]] inline double monotonic_now_s() {
  return static_cast<double>(monotonic_now_ns()) / static_cast<double>(kSecond);
}

}  // namespace weir
