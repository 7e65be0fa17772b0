#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::run {

constexpr double kPercent = 100;

// Figures for people, three digits or more of them: "734 B", "12.3 MB" (powers of ten, as rates are given).
[[nodiscard]] std::string bytes_text(double bytes);
// "850 us", "1.23 ms", "2.50 s"
[[nodiscard]] std::string microseconds_text(std::uint64_t microseconds);
// "12 345 678"
[[nodiscard]] std::string grouped(std::uint64_t count);
// "1 slice", "12 slices"
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);
// "2024-05-31T12:00:00.000Z"
[[nodiscard]] std::string utc_text(std::int64_t utc_ns);

// ", at least 9,076 fragments missing"; empty when none is.
[[nodiscard]] std::string missing_text(std::uint64_t missing, std::uint64_t dcms_lost);

}  // namespace weir::run
