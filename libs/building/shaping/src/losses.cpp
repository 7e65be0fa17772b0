#include "losses.hpp"

#include <algorithm>

namespace weir::shaping {

using namespace tuning;

bool Losses::note(double segments, double came, DurationNs within_ns, TimeNs now_ns) {
  if (now_ns - since_ns_ > within_ns) {
    since_ns_ = now_ns;
    segments_ = 0;
  }
  segments_ += segments;
  const double many = now_ns < tolerated_until_ns_ ? kRare * came : 0;
  return segments_ >= std::max(double{kFew}, many);
}

void Losses::tolerate(TimeNs now_ns) {
  tolerated_ns_ *= 2;
  tolerated_until_ns_ = now_ns + tolerated_ns_;
}

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
  running_ = limited_ns_ < std::max(kFew * kEpoch, least_ns);
  return !running_;
}

bool LossTrial::worth() const {
  return kClear * static_cast<double>(bytes_) <= rate_ * static_cast<double>(limited_ns_);
}

}  // namespace weir::shaping
