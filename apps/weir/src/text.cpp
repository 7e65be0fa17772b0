#include "text.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace weir::run {
namespace {

constexpr double kThousand = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

// Three digits: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= kThousand && unit + 1 < kUnits.size()) {
    bytes /= kThousand;
    ++unit;
  }
  return (unit == 0 ? fmt::format("{:.0f}", bytes) : three_digits(bytes)) + " " + kUnits[unit];
}

std::string microseconds_text(std::uint64_t microseconds) {
  const auto value = static_cast<double>(microseconds);
  if (value < kThousand) return fmt::format("{} us", microseconds);
  if (value < kThousand * kThousand) return three_digits(value / kThousand) + " ms";
  return three_digits(value / (kThousand * kThousand)) + " s";
}

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ' ');
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string utc_text(std::int64_t utc_ns) {
  const std::time_t seconds = utc_ns / kNsPerSecond;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return fmt::format("{} ns", utc_ns);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     utc_ns % kNsPerSecond / kNsPerMs);
}

std::string missing_text(std::uint64_t missing, std::uint64_t dcms_lost) {
  if (missing == 0 && dcms_lost == 0) return {};
  return fmt::format(", {}{} fragments missing", dcms_lost > 0 ? "at least " : "", missing);
}

}  // namespace weir::run
