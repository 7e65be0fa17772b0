#include <weir/base/text.hpp>
#include <weir/farm_view/sequence.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::farm_view {
namespace {

constexpr DurationNs kSilent = 60 * kSecond;
constexpr double kLeftMax = 1e9;
constexpr std::size_t kTextMax = 200;

std::string clock_text(double seconds) {
  const auto whole = std::isfinite(seconds) ? std::llround(std::clamp(seconds, 0.0, kLeftMax)) : 0;
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string sequence_text(const v1::Sequence& sequence, UtcNs now) {
  const std::uint64_t done = std::uint64_t{sequence.good()} + sequence.failed();
  std::string text =
      fmt::format("{}: {} of {} runs", clean_text(sequence.name(), kTextMax), done, sequence.runs());
  if (sequence.failed() > 0) text += fmt::format(", {} failed", sequence.failed());
  const bool is_whole = done == sequence.runs();
  if (sequence.over()) return text + (is_whole ? "; over" : "; ended before its last run");
  if (!sequence.point().empty()) text += ", at " + clean_text(sequence.point(), kTextMax);
  if (!sequence.waits_for().empty()) text += ", waits for " + clean_text(sequence.waits_for(), kTextMax);
  if (now - sequence.utc_ns() > kSilent)
    return text + fmt::format("; no message for {} s", (now - sequence.utc_ns()) / kSecond);
  return sequence.left_s() > 0 ? text + "; " + clock_text(sequence.left_s()) + " left" : text;
}

}  // namespace weir::farm_view
