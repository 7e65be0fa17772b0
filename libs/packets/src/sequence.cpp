#include <weir/packets/sequence.hpp>

#include <algorithm>
#include <utility>

namespace weir::packets {
namespace {

constexpr std::uint64_t kOrigin = std::uint64_t{1} << 32U;  // so that places before the first do not wrap

}  // namespace

Sequence::Arrival Sequence::arrive(std::uint32_t sequence) {
  if (!begun_) {
    begun_ = true;
    next_ = kOrigin + (sequence < kStartMax ? 0 : sequence);
  }
  const auto distance = static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next_));
  const std::int64_t ahead_max = kAheadMax;
  const std::int64_t behind_max = kBehindMax;
  if (distance > ahead_max || distance < -behind_max) {
    while (!gaps_.empty()) give_up_first();
    // A place far ahead keeps what is to come apart from what was.
    next_ = (next_ & ~std::uint64_t{UINT32_MAX}) + 2 * kOrigin + sequence;
    place_ = next_++;
    return Arrival::reset;
  }
  place_ = next_ + static_cast<std::uint64_t>(std::int64_t{distance});
  if (distance < 0) return fill(place_) ? Arrival::reordered : Arrival::stale;
  if (distance > 0) gaps_.push_back({next_, place_});
  next_ = place_ + 1;
  if (gaps_.size() > kGapsMax) give_up_first();
  return Arrival::next;
}

bool Sequence::fill(std::uint64_t place) {
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& one) { return place < one.to; });
  if (gap == gaps_.end() || place < gap->from) return false;
  const Gap behind{place + 1, gap->to};
  const bool before = gap->from < place;
  gap->to = place;
  const auto at = before ? gap + 1 : gaps_.erase(gap);
  if (behind.from < behind.to) gaps_.insert(at, behind);
  return true;
}

bool Sequence::give_up_before(std::uint64_t place) {
  while (!gaps_.empty() && gaps_.front().from < place) {
    if (gaps_.front().to > place) {  // the rest stays missed
      gaps_.push_front({gaps_.front().from, place});
      gaps_[1].from = place;
    }
    give_up_first();
  }
  return std::exchange(lost_untold_, false);
}

void Sequence::give_up_first() {
  lost_ += gaps_.front().to - gaps_.front().from;
  lost_untold_ = true;
  gaps_.pop_front();
}

}  // namespace weir::packets
