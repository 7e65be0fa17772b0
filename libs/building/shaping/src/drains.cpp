#include "drains.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

constexpr DurationNs kEveryMax = 4 * kSecond;
constexpr DurationNs kLengthLeast = kMillisecond;
constexpr DurationNs kPause = 100;  // of a drain's own duration, at least
constexpr DurationNs kPairMax = 12 * kMillisecond;

}  // namespace

void Drains::plan(TimeNs now_ns, DurationNs base_ns, bool far) {
  if (next_ns_ == 0) next_ns_ = now_ns + std::max(every_ns_, far ? kPause * base_ns : 0);
}

void Drains::begin(TimeNs now_ns, DurationNs base_ns, bool far) {
  pairs_next_ = !pairs_next_;
  pairs_ = pairs_next_ && !far;
  pair_left_ = 0;
  length_ns_ = far ? base_ns + base_ns / 2 : std::max(kLengthLeast, 4 * base_ns);
  until_ns_ = now_ns + length_ns_;
}

void Drains::begin_probe(TimeNs now_ns, DurationNs base_ns, bool far, DurationNs length_ns) {
  begin(now_ns, base_ns, far);
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
  return now_ns >= until_ns_ + (pairs_ && wants_pairs ? kPairMax : 0);
}

void Drains::end(TimeNs now_ns) {
  every_ns_ = std::min(2 * every_ns_, kEveryMax);
  next_ns_ = now_ns + std::max(every_ns_, kPause * length_ns_);
}

}  // namespace weir::shaping
