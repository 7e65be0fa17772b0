#include <weir/steps/slip_tracker.hpp>

#include <algorithm>

namespace weir::steps {

void SlipTracker::reset() { *this = {}; }

void SlipTracker::recall(const Deviation& state, SliceId since) {
  reset();
  state_ = candidate_ = state;
  since_ = since;
}

bool SlipTracker::see(SliceId slice, const Deviation& deviation) {
  seen_[seen_count_++ % kRemembered] = {slice, deviation};
  if (deviation == candidate_) {
    count_ = std::min(count_ + 1, kHold);
  } else {
    candidate_ = deviation;
    count_ = 1;
  }
  if (count_ < kHold || candidate_ == state_) return false;
  since_ = begin_of(candidate_);
  state_ = candidate_;
  return true;
}

// Returns the slice that divides the remembered deviations best: the old state before it, the new one from it
// on.
SliceId SlipTracker::begin_of(const Deviation& now) const {
  std::array<Seen, kRemembered> seen = seen_;
  const auto end = seen.begin() + static_cast<std::ptrdiff_t>(std::min(seen_count_, kRemembered));
  std::stable_sort(seen.begin(), end, [](const Seen& a, const Seen& b) { return a.slice < b.slice; });
  SliceId best;
  std::int64_t best_score = INT64_MIN;
  std::int64_t score =
      std::count_if(seen.begin(), end, [&](const Seen& one) { return one.deviation == now; });
  for (auto at = seen.begin(); at != end; ++at) {
    if (at->deviation == now && score > best_score) {
      best = at->slice;
      best_score = score;
    }
    score += at->deviation == state_ ? 1 : at->deviation == now ? -1 : 0;
  }
  return best;
}

}  // namespace weir::steps
