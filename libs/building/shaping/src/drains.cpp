#include "drains.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {

using namespace tuning;

bool Drains::due(TimeNs now_ns) {
  if (next_ns_ == 0) next_ns_ = now_ns + every_ns_;
  return now_ns >= next_ns_;
}

void Drains::begin(TimeNs now_ns, DurationNs base_ns) {
  pairs_ = std::exchange(pairs_next_, !pairs_next_);
  pair_left_ = 0;
  until_ns_ = now_ns + std::max(kFar / 2, kFew * base_ns);
}

void Drains::begin_probe(TimeNs now_ns, DurationNs length_ns) {
  pairs_ = false;
  until_ns_ = now_ns + length_ns;
}

Credit Drains::ask(std::uint32_t readout, std::uint64_t taken) {
  if (taken == 0) {
    pair_readout_ = readout;
    pair_left_ = 1;
    return Credit::granted;
  }
  if (pair_left_ == 0) return Credit::full;
  if (readout != pair_readout_) return Credit::readout_full;
  --pair_left_;
  return Credit::granted;
}

bool Drains::over(TimeNs now_ns, bool wants_pairs) const {
  return now_ns >= until_ns_ + (pairs_ && wants_pairs ? kEpoch : 0);
}

void Drains::end(TimeNs now_ns) {
  every_ns_ = std::min(2 * every_ns_, kFew * kSecond);
  next_ns_ = now_ns + every_ns_;
}

}  // namespace weir::shaping
