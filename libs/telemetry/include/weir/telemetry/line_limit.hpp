#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace weir::telemetry {

// Some lines in an interval, and then how many were left out, so that what happens a thousand times a second
// fills no disk. Time comes in; one thread at a time.
class LineLimit {
 public:
  static constexpr std::uint64_t kLinesMax = 5;
  static constexpr DurationNs kInterval = 10 * kSecond;

  // Whether the line is to be written; if so, how many were left out since the last one that was.
  [[nodiscard]] std::optional<std::uint64_t> ask(TimeNs now_ns) {
    if (now_ns >= interval_ends_ns_) {
      interval_ends_ns_ = now_ns + kInterval;
      lines_ = 0;
    }
    if (lines_ == kLinesMax) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return std::exchange(left_out_, 0);
  }

 private:
  TimeNs interval_ends_ns_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace weir::telemetry
