#pragma once

#include <weir/base/time.hpp>

// The system's clocks, for adapters. Machines are given the time instead. Any thread.
namespace weir {

// CLOCK_MONOTONIC, in ns: the same for all processes of a host, until it is started again.
[[nodiscard]] TimeNs monotonic_now_ns();
// CLOCK_REALTIME, in ns since 1970; may jump.
[[nodiscard]] UtcNs utc_now_ns();

[[nodiscard]] inline double monotonic_now_s() {
  return static_cast<double>(monotonic_now_ns()) / static_cast<double>(kSecond);
}

}  // namespace weir
