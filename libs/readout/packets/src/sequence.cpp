#include <weir/packets/sequence.hpp>

#include <algorithm>
#include <utility>

namespace weir::packets {

Sequence::Arrival Sequence::arrive(std::uint32_t sequence) {
  const std::int64_t ahead = begun_ ? distance(sequence) : std::int64_t{sequence};
  if (begun_ && (ahead > std::int64_t{kAheadMax} || ahead < -std::int64_t{kBehindMax})) return Arrival::far;
  ++arrivals_;
  place_ = next_ + static_cast<std::uint64_t>(ahead);
  std::erase_if(jumps_, [&](const Jump& jump) { return arrivals_ - jump.arrival > kDoubtMax; });
  if (ahead < 0) {
    if (fill(place_)) return Arrival::reordered;
    return was_given_up(place_) ? Arrival::given_up : Arrival::stale;
  }
  const auto same = [&](const Jump& jump) { return jump.place == place_; };
  if (std::any_of(jumps_.begin(), jumps_.end(), same)) return Arrival::stale;
  if (ahead > static_cast<std::int64_t>(kSkipMax)) return take_jump();
  count_on(place_);
  return Arrival::next;
}

// Notes the jump to place_, which confirms those shortly before it.
Sequence::Arrival Sequence::take_jump() {
  const auto behind =
      std::find_if(jumps_.begin(), jumps_.end(), [&](const Jump& jump) { return jump.place > place_; });
  const auto first = std::find_if(jumps_.begin(), behind,
                                  [&](const Jump& jump) { return place_ - jump.place <= kConfirmMax; });
  if (first != behind) confirm_jumps(first->place);
  if (begun_ && place_ <= next_ + kSkipMax) {
    count_on(place_);
    return Arrival::next;
  }
  const auto at =
      std::find_if(jumps_.begin(), jumps_.end(), [&](const Jump& jump) { return jump.place > place_; });
  jumps_.insert(at, {place_, arrivals_});
  const auto older = [](const Jump& a, const Jump& b) { return a.arrival < b.arrival; };
  if (jumps_.size() > kJumpsMax) jumps_.erase(std::min_element(jumps_.begin(), jumps_.end(), older));
  return Arrival::next;
}

// Moves the count on through the jumps before place_. A new count begins at `from`, or at 0.
void Sequence::confirm_jumps(std::uint64_t from) {
  if (!begun_ && from - next_ >= kStartMax) {
    std::erase_if(jumps_, [&](const Jump& jump) { return jump.place < from; });
    next_ = from;
  }
  while (!jumps_.empty() && jumps_.front().place < place_) {
    const std::uint64_t place = jumps_.front().place;
    jumps_.erase(jumps_.begin());
    count_on(place);
  }
}

// Counts the packet at this place as arrived, and unconfirmed jumps that the count has thereby reached.
void Sequence::count_on(std::uint64_t place) {
  begun_ = true;
  if (place >= next_) {
    if (place > next_) gaps_.push_back({next_, place});
    next_ = place + 1;
  }
  while (!jumps_.empty() && jumps_.front().place <= next_) {
    next_ = std::max(next_, jumps_.front().place + 1);
    jumps_.erase(jumps_.begin());
  }
  if (gaps_.size() > kGapsMax) give_up_first();
}

void Sequence::restart(std::optional<std::uint32_t> first) {
  while (!gaps_.empty()) give_up_first();
  given_up_.clear();
  jumps_.clear();
  begun_ = first.has_value();
  // A place far ahead separates the new count from the old one.
  next_ = (next_ & ~std::uint64_t{UINT32_MAX}) + 2 * kOrigin + first.value_or(0);
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
