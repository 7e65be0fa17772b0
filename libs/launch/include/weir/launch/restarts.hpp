#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>

namespace weir::launch {

struct RestartSettings {
  bool on_failure = true;  // false: never
  std::uint32_t restarts_max = 3;
  DurationNs backoff_ns = 200 * kMillisecond;  // before the first restart; doubles with each
  DurationNs backoff_max_ns = 5 * kSecond;
  DurationNs address_wait_ns = kSecond;  // until an address that was in use is tried again
  DurationNs refill_ns = 60 * kSecond;   // after so long one of the restarts that were used can be used again
};

// The restarts of one process in a run: a number at once, and one more for each `refill_ns` that passes. So a
// long run may see many deaths, and a process that cannot live is given up soon. Pure.
class Restarts {
 public:
  explicit Restarts(const RestartSettings& settings) : settings_(settings) {}

  // The process ended in the middle of the run without having been told to. When it is to be started again;
  // empty: it stays away, because restarts are off or used up.
  [[nodiscard]] std::optional<TimeNs> after_end(TimeNs now_ns);
  // The process could not begin because its address is in use, and may do so later. Uses up nothing; empty:
  // restarts are off.
  [[nodiscard]] std::optional<TimeNs> after_refusal(TimeNs now_ns) const;
  // Those that are used up at present.
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  void refill(TimeNs now_ns);

  RestartSettings settings_;
  std::uint32_t count_ = 0;  // used, and not refilled
  TimeNs refilled_ns_ = 0;   // up to here
};

}  // namespace weir::launch
