#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

// Shared by the points and pages of several benchmarks.
namespace weir::bench {

inline constexpr double kPercent = 100;
inline constexpr double kUsPerMs = 1000;
inline constexpr double kBytesPerKb = 1000;
inline constexpr double kMbitPerGbit = 1000;
// Buffers of a farm's processes that hold no benchmark up.
inline constexpr std::uint64_t kBufferBytesMin = 64U << 20;

// Rounds to four digits.
[[nodiscard]] inline double four_digits(double value) { return std::stod(fmt::format("{:.4g}", value)); }
// Rounds to hundredths, without negative zero.
[[nodiscard]] inline double hundredths(double value) { return std::round(value * kPercent) / kPercent + 0.0; }

}  // namespace weir::bench
