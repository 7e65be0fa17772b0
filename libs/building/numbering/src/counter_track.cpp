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
      expected_(settings.first.value) {
  WEIR_ASSERT(settings.bits >= kCounterBitsMin && settings.bits <= 64);
}

void CounterTrack::begin(std::optional<SliceId> from) {
  expected_ = std::max(settings_.first, from.value_or(settings_.first)).value;
  stray_.reset();
  last_.reset();
  counts_ = {};
}

std::optional<SliceId> CounterTrack::place(std::uint64_t counter, std::optional<SliceId> latest) const {
  const std::uint64_t low = (counter + static_cast<std::uint64_t>(settings_.offset)) & mask_;
  if (mask_ == UINT64_MAX) return low > kNumberMax.value ? std::nullopt : std::optional(SliceId(low));
  const std::uint64_t half = mask_ / 2 + 1;
  std::uint64_t expected = expected_;
  if (latest && latest->value > expected) {
    // Without a number of its own within the last half range the count of wraps is a guess.
    if (latest->value - expected >= half && !planted(Planted::place_anyhow)) return std::nullopt;
    expected = latest->value;
  }
  const std::uint64_t ahead = (low - expected) & mask_;
  if (ahead < half) {
    const std::uint64_t number = expected + ahead;
    return number > kNumberMax.value ? std::nullopt : std::optional(SliceId(number));
  }
  const std::uint64_t behind = mask_ - ahead + 1;
  return behind > expected ? std::nullopt : std::optional(SliceId(expected - behind));
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
  follow(number->value, latest);
  return number;
}

// A jump or a new beginning goes on from there, and sparse counters ascend.
void CounterTrack::follow(std::uint64_t number, std::optional<SliceId> latest) {
  const std::uint64_t highest = std::max(expected_, latest.value_or(SliceId()).value) + near_;
  const bool fits = number + near_ >= expected_ && number <= highest;
  const bool ascends = stray_ && number >= *stray_;
  strays_ = ascends ? strays_ + 1 : 1;
  if (!fits && strays_ < kAscending && !(ascends && number - *stray_ <= near_)) {
    stray_ = number;
    return;
  }
  expected_ = number + 1;
  stray_.reset();
}

}  // namespace weir::numbering
