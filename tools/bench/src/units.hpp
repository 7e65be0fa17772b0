#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>

// Shared by the points and pages of several benchmarks.
namespace weir::bench {

inline constexpr double kPercent = 100;
inline constexpr double kUsPerMs = 1000;
inline constexpr double kMsPerS = 1000;
inline constexpr double kBytesPerKb = 1000;
inline constexpr double kMbitPerGbit = 1000;
inline constexpr double kBitPerMbit = 1e6;
// Buffers of a farm's processes that hold no benchmark up.
inline constexpr std::uint64_t kBufferBytesMin = 64U << 20;

// Returns a line of a page: a statement of our own holds here or not.
[[nodiscard]] inline std::string verdict_text(bool met, const std::string& claim,
                                              const std::string& measured) {
  return fmt::format("- {}: {}; measured {}\n", met ? "met" : "not met", claim, measured);
}

// A table of a paper's statements.
[[nodiscard]] inline std::string verdict_table_head() {
  return "| verdict | the paper | criterion | here |\n| --- | --- | --- | --- |\n";
}
[[nodiscard]] inline std::string verdict_row(const std::string& verdict, const std::string& paper,
                                             const std::string& criterion, const std::string& measured) {
  return fmt::format("| {} | {} | {} | {} |\n", verdict, paper, criterion, measured);
}
// A literal is a verdict in words, and no bool.
template <std::same_as<bool> Bool>
[[nodiscard]] std::string verdict_row(Bool met, const std::string& paper, const std::string& criterion,
                                      const std::string& measured) {
  return verdict_row(std::string(met ? "met" : "not met"), paper, criterion, measured);
}

// Rounds to four digits.
[[nodiscard]] inline double four_digits(double value) { return std::stod(fmt::format("{:.4g}", value)); }
// Rounds to hundredths, without negative zero.
[[nodiscard]] inline double hundredths(double value) { return std::round(value * kPercent) / kPercent + 0.0; }

}  // namespace weir::bench
