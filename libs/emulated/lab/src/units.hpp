#pragma once

#include <weir/base/time.hpp>

namespace weir::lab {

inline constexpr double kBitsPerByte = 8;

[[nodiscard]] inline double seconds(DurationNs duration) {
  return static_cast<double>(duration) / static_cast<double>(kSecond);
}

}  // namespace weir::lab
