#pragma once

#include <weir/base/time.hpp>

#include <cstdint>
#include <optional>

namespace weir::launch {

struct RestartSettings {
  bool on_failure = true;  // false: never
  std::uint32_t restarts_max = 3;
  DurationNs backoff_ns = 200 * kMillisecond;  // before the first restart; doubles each time
  DurationNs backoff_max_ns = 5 * kSecond;
  DurationNs address_wait_ns = kSecond;  // until an address in use is tried again
  DurationNs refill_ns = 60 * kSecond;   // time after which one used restart is available again
};

// The restarts of one process in a run: an initial number, plus one per `refill_ns`. A long run survives many
// deaths, while a process that cannot run is given up soon. Pure.
class Restarts {
 public:
  explicit Restarts(const RestartSettings& settings) : settings_(settings) {}

  // The process ended during the run on its own. Returns when to restart it, or nothing if restarts are off
  // or used up.
  [[nodiscard]] std::optional<TimeNs> after_end(TimeNs now_ns);
  // The process could not start because its address is in use, possibly for a short time. Does not use up a
  // restart. Returns nothing if restarts are off.
  [[nodiscard]] std::optional<TimeNs> after_refusal(TimeNs now_ns) const;
  // Returns the number of restarts that are used up at present.
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  void refill(TimeNs now_ns);

  RestartSettings settings_;
  std::uint32_t count_ = 0;  // used and not yet refilled
  TimeNs refilled_ns_ = 0;   // time of the last refill
};

}  // namespace weir::launch
