#include <weir/base/figures.hpp>

#include <array>
#include <cstdio>
#include <ctime>

namespace weir {
namespace {

constexpr double kThousand = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerMs = 1'000'000;

std::string fixed(double value, int decimals) {
  constexpr std::size_t kLongest = 400;  // of a double
  std::array<char, kLongest> text{};
  return {text.data(),
          static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.*f", decimals, value))};
}

// Three digits: 1.23, 12.3, 123.
std::string three_digits(double value) {
  const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  return fixed(value, decimals);
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= kThousand && unit + 1 < kUnits.size()) {
    bytes /= kThousand;
    ++unit;
  }
  return (unit == 0 ? fixed(bytes, 0) : three_digits(bytes)) + " " + kUnits[unit];
}

std::string microseconds_text(std::uint64_t microseconds) {
  const auto value = static_cast<double>(microseconds);
  if (value < kThousand) return std::to_string(microseconds) + " us";
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
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string utc_text(std::int64_t utc_ns) {
  const std::time_t seconds = utc_ns / kNsPerSecond;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return std::to_string(utc_ns) + " ns";
  constexpr std::size_t kLongest = 100;
  std::array<char, kLongest> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                    static_cast<int>(utc_ns % kNsPerSecond / kNsPerMs));
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace weir
