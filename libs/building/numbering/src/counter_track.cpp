#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/numbering/counter_track.hpp>
#include <weir/numbering/number_order.hpp>

#include <algorithm>

namespace weir::numbering {

CounterTrack::CounterTrack(const CounterSettings& settings)
    : settings_(settings),
      mask_(settings.bits >= 64 ? UINT64_MAX : (1ULL << settings.bits) - 1),
      near_(settings.bits < 16 ? (mask_ + 1) / 4 : kNear),
      expected_(settings.first.value),
      anchor_(expected_) {
  WEIR_ASSERT(settings.bits >= kCounterBitsMin && settings.bits <= 64);
}

void CounterTrack::begin() {
  expected_ = anchor_ = settings_.first.value;
  stray_.reset();
  last_.reset();
  counts_ = {};
}

void CounterTrack::anchor(SliceId from) {
  expected_ = std::max(expected_, from.value);
  anchor_ = std::max(anchor_, from.value);
}

std::optional<SliceId> CounterTrack::place(std::uint64_t counter, std::optional<SliceId> latest) const {
  const std::uint64_t low = (counter + static_cast<std::uint64_t>(settings_.offset)) & mask_;
  if (mask_ == UINT64_MAX) return low > kNumberMax.value ? std::nullopt : std::optional(SliceId(low));
  const std::uint64_t half = mask_ / 2 + 1;
  const auto from = origin(latest);
  if (!from) return std::nullopt;
  const std::uint64_t ahead = (low - *from) & mask_;
  if (ahead < half) {
    const std::uint64_t number = *from + ahead;
    return number > kNumberMax.value ? std::nullopt : std::optional(SliceId(number));
  }
  const std::uint64_t behind = mask_ - ahead + 1;
  return behind > *from ? std::nullopt : std::optional(SliceId(*from - behind));
}

// A fragment that was placed counts as one of the farm's latest number then: two damaged counters in sequence
// may move the source to half a range below the farm.
std::optional<std::uint64_t> CounterTrack::origin(std::optional<SliceId> latest) const {
  if (!latest || latest->value <= expected_) return expected_;
  const std::uint64_t half = mask_ / 2 + 1;
  const std::uint64_t own = std::max(expected_, anchor_);
  // Without a number of its own within the last half range the count of wraps is a guess.
  if (latest->value > own && latest->value - own >= half && !planted(Planted::place_anyhow))
    return std::nullopt;
  return latest->value;
}

std::optional<SliceId> CounterTrack::take(std::uint64_t counter, std::optional<SliceId> latest) {
  const auto number = place(counter, latest);
  if (!number) {
    ++counts_.unanchored;
    return number;
  }
  if (last_ && *number == *last_) {
    ++counts_.repeated;
  } else if (last_ && *number < *last_) {
    ++counts_.back;
  } else {
    const std::uint64_t expected = last_ ? last_->value + 1 : expected_;
    counts_.left_out += number->value - std::min(number->value, expected);
  }
  last_ = number;
  if (latest) anchor_ = std::max(anchor_, latest->value);
  follow(number->value, latest);
  return number;
}

// A jump or a new beginning goes on from there, and sparse counters ascend. Half a range away it is not known
// on which side a number is: two with their highest bit flipped must not move the source by a range.
void CounterTrack::follow(std::uint64_t number, std::optional<SliceId> latest) {
  const std::uint64_t highest = std::max(expected_, latest.value_or(SliceId()).value) + near_;
  const bool fits = number + near_ >= expected_ && number <= highest;
  const bool ascends = stray_ && number >= *stray_;
  strays_ = ascends ? strays_ + 1 : 1;
  const std::uint64_t away = std::max(number, expected_) - std::min(number, expected_);
  const bool unclear = away > mask_ / 2 - near_ / 2;
  const bool moves =
      unclear ? strays_ >= kUnclear : strays_ >= kAscending || (ascends && number - *stray_ <= near_);
  if (!fits && !moves) {
    stray_ = number;
    return;
  }
  expected_ = number + 1;
  stray_.reset();
}

}  // namespace weir::numbering
