#pragma once

#include <weir/base/time.hpp>

#include <concepts>
#include <cstdint>

// Conversions of the farm file's times: keys that end in _us, _ms and _s.
namespace weir::config {

[[nodiscard]] constexpr DurationNs from_ms(std::integral auto milliseconds) {
  return static_cast<DurationNs>(milliseconds) * kMillisecond;
}
[[nodiscard]] constexpr DurationNs from_ms(double milliseconds) {
  return static_cast<DurationNs>(milliseconds * 1e6);
}
[[nodiscard]] constexpr DurationNs from_us(double microseconds) {
  return static_cast<DurationNs>(microseconds * 1e3);
}
[[nodiscard]] constexpr DurationNs from_s(double seconds) { return static_cast<DurationNs>(seconds * 1e9); }

}  // namespace weir::config
