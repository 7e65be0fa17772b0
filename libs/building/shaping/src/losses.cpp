#include "losses.hpp"

#include "tuning.hpp"

#include <algorithm>

namespace weir::shaping {
bool Losses::note(double segments, double came, DurationNs within_ns, TimeNs now_ns) {
  if (now_ns - since_ns_ > within_ns) {
    since_ns_ = now_ns;
    segments_ = 0;
  }
  segments_ += segments;
  const double many = now_ns < tolerated_until_ns_ ? tuning::kRare * came : 0;
  return segments_ >= std::max(double{tuning::kFew}, many);
}

void Losses::tolerate(TimeNs now_ns) {
  tolerated_ns_ *= 2;
  tolerated_until_ns_ = now_ns + tolerated_ns_;
}

}  // namespace weir::shaping
