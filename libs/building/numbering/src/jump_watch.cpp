#include <weir/base/assert.hpp>
#include <weir/numbering/jump_watch.hpp>

#include <algorithm>

namespace weir::numbering {
namespace {

bool follows(SliceId number, SliceId last) {
  const std::uint64_t low = std::min(number.value, last.value);
  return std::max(number.value, last.value) - low <= JumpWatch::kFar;
}

}  // namespace

void JumpWatch::begin(std::optional<SliceId> joins) {
  state_ = {};
  last_.reset();
  if (joins && joins->value > 0) last_ = SliceId(joins->value - 1);
  joins_ = last_.has_value();
  delivered_ = false;
  candidate_.reset();
  farm_ = SliceId();
}

void JumpWatch::recall(const Jump& known) {
  if (!delivered_) state_ = known;
}

bool JumpWatch::see(SliceId number, std::optional<UtcNs> time, TimeNs now) {
  const SliceId own(number.value + static_cast<std::uint64_t>(state_.slip));
  delivered_ = true;
  if (!last_ || follows(own, *last_)) {
    last_ = std::max(last_.value_or(own), own);
    joins_ = false;
    candidate_.reset();
    return false;
  }
  if (!candidate_ || !follows(own, candidate_->last)) {
    candidate_ = Candidate{own, own, time, now, farm_, 1};
    return false;
  }
  candidate_->last = std::max(candidate_->last, own);
  ++candidate_->count;
  if (!is_behind() || candidate_->count < kBehind) return false;
  // The data of a source that joins may be late from the first fragment on.
  if (now - candidate_->since < (joins_ ? kJoinedBehindFor : kBehindFor)) return false;
  // One that sends earlier fragments again catches up.
  const std::uint64_t advance = candidate_->last.value - candidate_->first.value;
  if (farm_.value - candidate_->farm.value < advance / 4 * 3) return false;
  confirm();
  return true;
}

bool JumpWatch::announced(SliceId slice, std::optional<UtcNs> time) {
  farm_ = std::max(farm_, slice);
  if (!candidate_ || is_behind()) return false;
  if (slice >= candidate_->first) {
    // Fragments were lost, or a short jump looks like that.
    last_ = candidate_->last;
    joins_ = false;
    candidate_.reset();
    return false;
  }
  const bool later = time && candidate_->time && *time > *candidate_->time &&
                     static_cast<std::uint64_t>(*time) - static_cast<std::uint64_t>(*candidate_->time) >
                         static_cast<std::uint64_t>(apart_ns_);
  if (slice <= *last_ || candidate_->count < kAhead || !later) return false;
  confirm();
  return true;
}

// The first fragment after the jump belongs to the number after the last one before it, or, of a source that
// joins, after the farm's.
void JumpWatch::confirm() {
  WEIR_ASSERT(last_ && candidate_);
  if (joins_) last_ = std::max(*last_, candidate_->farm);
  joins_ = false;
  const std::uint64_t first = last_->value + 1;
  const std::uint64_t slip = first - candidate_->first.value;
  state_.slip += static_cast<std::int64_t>(slip);
  state_.since = SliceId(first);
  const std::uint64_t off =
      state_.slip < 0 ? -static_cast<std::uint64_t>(state_.slip) : static_cast<std::uint64_t>(state_.slip);
  last_ = SliceId(candidate_->last.value + slip);
  if (off <= kFar) {  // back in step; fragments were lost before one of the jumps
    last_ = SliceId(last_->value - static_cast<std::uint64_t>(state_.slip));
    state_ = {};
  }
  candidate_.reset();
}

}  // namespace weir::numbering
