#include "line_rate.hpp"

#include "tuning.hpp"

#include <algorithm>

namespace weir::shaping {
void LineRate::note(std::uint64_t bytes, TimeNs before_ns, TimeNs now_ns) {
  bytes_ += bytes;
  // These bytes arrived at an unknown moment of a pause.
  if (now_ns - before_ns > tuning::kFar) {
    since_ns_ = now_ns;
    bytes_ = 0;
  }
  if (static_cast<double>(bytes_) < tuning::kBurst || now_ns == since_ns_) return;
  rate_ = std::max(rate_, static_cast<double>(bytes_) / static_cast<double>(now_ns - since_ns_));
  since_ns_ = now_ns;
  bytes_ = 0;
}

void LineRate::fade() { rate_ *= tuning::kFade; }

}  // namespace weir::shaping
