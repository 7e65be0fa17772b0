#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace weir::telemetry {

// Allows some lines per interval and counts the others, so that an event which occurs a thousand times a
// second does not fill the disk. The time is an argument. Not thread-safe.
class LineLimit {
 public:
  static constexpr std::uint64_t kLinesMax = 5;
  static constexpr DurationNs kInterval = 10 * kSecond;

  // Returns nothing if the line should not be written, else the number of lines left out since the last
  // written one.
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
