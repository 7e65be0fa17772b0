#include <weir/packets/sequence.hpp>

#include <algorithm>
#include <utility>

namespace weir::packets {
namespace {

constexpr std::uint64_t kOrigin = std::uint64_t{1} << 32U;  // keeps places before the first from wrapping

}  // namespace

Sequence::Arrival Sequence::arrive(std::uint32_t sequence) {
  if (!begun_) {
    begun_ = true;
    next_ = kOrigin + (sequence < kStartMax ? 0 : sequence);
  }
  const std::int64_t ahead = distance(sequence);
  if (ahead > std::int64_t{kAheadMax} || ahead < -std::int64_t{kBehindMax}) return Arrival::far;
  place_ = next_ + static_cast<std::uint64_t>(ahead);
  if (ahead < 0) {
    if (fill(place_)) return Arrival::reordered;
    return was_given_up(place_) ? Arrival::given_up : Arrival::stale;
  }
  if (ahead > 0) gaps_.push_back({next_, place_});
  next_ = place_ + 1;
  if (gaps_.size() > kGapsMax) give_up_first();
  return Arrival::next;
}

void Sequence::restart(std::uint32_t sequence, bool from_start) {
  while (!gaps_.empty()) give_up_first();
  given_up_.clear();
  begun_ = true;
  // A place far ahead separates the new count from the old one.
  const std::uint64_t base = (next_ & ~std::uint64_t{UINT32_MAX}) + 2 * kOrigin;
  place_ = base + sequence;
  next_ = place_ + 1;
  if (from_start && sequence > 0 && sequence < kStartMax) gaps_.push_back({base, place_});
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

bool Sequence::was_given_up(std::uint64_t place) const {
  const auto gap = std::upper_bound(given_up_.begin(), given_up_.end(), place,
                                    [](std::uint64_t value, const Gap& one) { return value < one.to; });
  return gap != given_up_.end() && gap->from <= place;
}

bool Sequence::give_up_before(std::uint64_t place) {
  while (!gaps_.empty() && gaps_.front().from < place) {
    if (gaps_.front().to > place) {  // the rest counts as missed
      gaps_.push_front({gaps_.front().from, place});
      gaps_[1].from = place;
    }
    give_up_first();
  }
  return std::exchange(lost_untold_, false);
}

void Sequence::give_up_first() {
  const Gap gap = gaps_.front();
  gaps_.pop_front();
  lost_ += gap.to - gap.from;
  lost_untold_ = true;
  if (!given_up_.empty() && given_up_.back().to == gap.from) {
    given_up_.back().to = gap.to;
  } else {
    given_up_.push_back(gap);
  }
  if (given_up_.size() > kGapsMax) given_up_.erase(given_up_.begin());
}

}  // namespace weir::packets
