#include "loss_trial.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

constexpr DurationNs kLimitedLeast = 40 * kMillisecond;
// If the window was not the limit often enough in this time, the rate has changed for other reasons.
constexpr DurationNs kMost = 4 * kSecond;
constexpr double kWorth = 0.85;  // of the rate before: a larger drop than normal variation

}  // namespace

void LossTrial::begin(double window, double rate, TimeNs from_ns) {
  *this = {};
  running_ = true;
  window_ = window;
  rate_ = rate;
  from_ns_ = from_ns;
}

bool LossTrial::note(std::uint64_t bytes, DurationNs limited_ns, DurationNs least_ns, TimeNs now_ns) {
  if (!running_ || now_ns < from_ns_) return false;
  if (now_ns - from_ns_ > std::max(kMost, 4 * least_ns)) {
    running_ = false;
    return false;
  }
  limited_ns_ += limited_ns;
  bytes_ += bytes;
  if (limited_ns_ < std::max(kLimitedLeast, least_ns)) return false;
  running_ = false;
  return true;
}

bool LossTrial::worth() const {
  return static_cast<double>(bytes_) <= kWorth * rate_ * static_cast<double>(limited_ns_);
}

}  // namespace weir::shaping
