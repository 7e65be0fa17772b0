#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Numbers formatted for people.
namespace weir {

constexpr double kPercent = 100;

// Three digits or more: "734 B", "12.3 MB" (powers of ten, as rates are given).
[[nodiscard]] std::string bytes_text(double bytes);
// "850 us", "1.23 ms", "2.50 s"
[[nodiscard]] std::string microseconds_text(std::uint64_t microseconds);
// "12 345 678"
[[nodiscard]] std::string grouped(std::uint64_t count);
// "1 slice", "12 slices"
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);
// "2024-05-31T12:00:00.000Z"
[[nodiscard]] std::string utc_text(std::int64_t utc_ns);

}  // namespace weir
