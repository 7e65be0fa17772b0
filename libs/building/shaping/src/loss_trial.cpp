#include "loss_trial.hpp"

#include "tuning.hpp"

#include <algorithm>

namespace weir::shaping {
void LossTrial::begin(double window, double rate, TimeNs from_ns) {
  *this = {};
  running_ = true;
  window_ = window;
  rate_ = rate;
  from_ns_ = from_ns;
}

bool LossTrial::note(std::uint64_t bytes, DurationNs limited_ns, DurationNs least_ns, TimeNs now_ns) {
  if (!running_ || now_ns < from_ns_) return false;
  limited_ns_ += limited_ns;
  bytes_ += bytes;
  if (limited_ns_ < std::max(tuning::kFew * tuning::kEpoch, least_ns)) return false;
  running_ = false;
  return true;
}

bool LossTrial::worth() const {
  return tuning::kClear * static_cast<double>(bytes_) <= rate_ * static_cast<double>(limited_ns_);
}

}  // namespace weir::shaping
