#include <weir/base/awake_clock.hpp>
#include <weir/clock/clock.hpp>

#include <atomic>
#include <ctime>
#include <limits>
#include <mutex>

namespace weir {
namespace {

std::int64_t read(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

// The process' AwakeClock for all threads. Most readings need no lock: they follow another one closely.
class SharedAwakeClock {
 public:
  TimeNs now_ns() {
    const TimeNs now = monotonic_now_ns();
    const TimeNs seen = seen_ns_.load(std::memory_order_acquire);
    const DurationNs left_out = left_out_ns_.load(std::memory_order_acquire);
    const bool same = seen_ns_.load(std::memory_order_relaxed) == seen;
    if (same && seen != kChanging && now >= seen && now - seen <= kClose) return now - left_out;
    const std::lock_guard lock(mutex_);
    const TimeNs awake = clock_.at(now);
    // A reader of the new left_out_ns_ finds another seen_ns_ than before, and takes the lock.
    seen_ns_.store(kChanging, std::memory_order_relaxed);
    left_out_ns_.store(clock_.left_out_ns(), std::memory_order_release);
    seen_ns_.store(awake + clock_.left_out_ns(), std::memory_order_release);
    return awake;
  }
  [[nodiscard]] DurationNs left_out_ns() const { return left_out_ns_.load(std::memory_order_acquire); }

 private:
  static constexpr TimeNs kChanging = std::numeric_limits<TimeNs>::max();
  static constexpr DurationNs kClose = AwakeClock::kGapMax / 10;

  std::atomic<TimeNs> seen_ns_{kChanging};
  std::atomic<DurationNs> left_out_ns_{0};
  std::mutex mutex_;
  AwakeClock clock_;
};

SharedAwakeClock& shared_awake_clock() {
  static SharedAwakeClock clock;
  return clock;
}

}  // namespace

TimeNs monotonic_now_ns() { return read(CLOCK_MONOTONIC); }
TimeNs awake_now_ns() { return shared_awake_clock().now_ns(); }
DurationNs left_out_ns() { return shared_awake_clock().left_out_ns(); }
UtcNs utc_now_ns() { return read(CLOCK_REALTIME); }

}  // namespace weir
