#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/numbering/number_order.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace weir::numbering {

NumberOrder::NumberOrder(std::size_t readouts, DurationNs skew_ns, DurationNs tolerance_ns)
    : skew_ns_(skew_ns), tolerance_ns_(tolerance_ns), readers_(readouts) {}

void NumberOrder::begin(SliceId first, TimeNs now) {
  std::map<SliceId, Held> held = std::exchange(held_, {});
  resume({first, {}}, now);
  held_ = std::move(held);
  held_.erase(held_.begin(), held_.lower_bound(first));
  for (auto& [number, one] : held_) {
    one.near = number.value <= near_.value + kFarAhead;
    if (one.near) near_ = SliceId(number.value + 1);
  }
}

void NumberOrder::resume(const OrderState& state, TimeNs now) {
  next_ = near_ = confirmed_upto_ = state.next;
  held_.clear();
  gaps_.clear();
  checked_ = 0;
  time_.reset();
  counts_ = state.counts;
  std::fill(readers_.begin(), readers_.end(), Reader{SliceId(), now});
}

void NumberOrder::seen(std::size_t readout, SliceId number, UtcNs time, TimeNs now) {
  WEIR_ASSERT(readout < readers_.size() && number <= kNumberMax);
  readers_[readout] = {number, now};
  if (number < next_) {
    // The second and later reports of each number, mostly, behind all gaps.
    counts_.late += is_in_gap(number) ? 1U : 0U;
    return;
  }
  // A number that most have already passed is confirmed.
  Held& held = held_.try_emplace(number, Held{time, now, number < confirmed_upto_ ? now : 0, false, {}, {}})
                   .first->second;
  if (number.value <= near_.value + kFarAhead) {
    held.near = true;
    near_ = std::max(near_, SliceId(number.value + 1));
  }
  if (tolerance_ns_ > 0 && std::find(held.voters.begin(), held.voters.end(), readout) == held.voters.end()) {
    held.voters.push_back(readout);
    held.vote.add(time, tolerance_ns_);
  }
  if (held_.size() <= kHeldMax) return;
  held_.erase(std::prev(held_.end()));
  ++counts_.unconfirmed;
}

std::optional<NumberOrder::Due> NumberOrder::next(TimeNs now) {
  if (held_.empty()) return std::nullopt;
  if (now - checked_ > kConfirmedWithin / 10) give_up_unconfirmed(now);
  if (held_.empty()) return std::nullopt;
  const auto first = held_.begin();
  const SliceId number = first->first;
  Held& held = first->second;
  if (number != next_) {
    // Others of the majority may still send numbers of the gap.
    confirm(now);
    const bool waits = held.confirmed == 0 || now - held.confirmed < skew_ns_;
    if (waits && !planted(Planted::close_gaps)) return std::nullopt;
    close_gap(number);
  } else {
    if (!held.near) confirm(now);
    if ((!held.near && held.confirmed == 0) || !has_a_time(held, now)) return std::nullopt;
  }
  const UtcNs time = tolerance_ns_ > 0 ? held.vote.time(time_, tolerance_ns_) : held.time;
  if (tolerance_ns_ > 0) time_ = time;
  held_.erase(first);
  next_ = SliceId(number.value + 1);
  near_ = std::max(near_, next_);
  return Due{number, time};
}

bool NumberOrder::has_a_time(const Held& held, TimeNs now) {
  if (tolerance_ns_ <= 0) return true;
  const DurationNs lately = std::max(kDeliveredLately, 10 * skew_ns_);
  const auto deliver = std::count_if(readers_.begin(), readers_.end(),
                                     [&](const Reader& reader) { return now - reader.heard <= lately; });
  if (held.vote.is_decided(static_cast<std::size_t>(deliver))) return true;
  if (now - held.since < skew_ns_) return false;
  if (TimeVote::is_after(held.vote.time(time_, tolerance_ns_), time_, tolerance_ns_)) return true;
  // A readout that is ahead has reported it with the time of an earlier number: the others have yet to.
  confirm(now);
  return held.confirmed != 0 && now - held.confirmed >= skew_ns_;
}

SliceId NumberOrder::reached_by_most(TimeNs now) {
  const DurationNs lately = std::max(kDeliveredLately, 10 * skew_ns_);
  at_.clear();
  for (const Reader& reader : readers_) {
    if (now - reader.heard <= lately) at_.push_back(reader.at);
  }
  // No readout delivers any more: no other numbers will come.
  if (at_.empty()) return kNumberMax;
  const auto most = at_.begin() + static_cast<std::ptrdiff_t>(at_.size() / 2);
  std::nth_element(at_.begin(), most, at_.end(), std::greater<>());
  return *most;
}

// Each number that waits is visited once.
void NumberOrder::confirm(TimeNs now) {
  const SliceId reached = reached_by_most(now);
  if (reached < confirmed_upto_) return;
  for (auto at = held_.lower_bound(confirmed_upto_); at != held_.end() && at->first <= reached; ++at)
    at->second.confirmed = now;
  confirmed_upto_ = SliceId(reached.value + 1);
}

void NumberOrder::close_gap(SliceId number) {
  ++counts_.closed;
  counts_.left_out += number.value - next_.value;
  gaps_.push_back({next_, number});
  if (gaps_.size() > kGapsMax) gaps_.pop_front();
}

bool NumberOrder::is_in_gap(SliceId number) const {
  const auto gap = std::ranges::upper_bound(gaps_, number, {}, &Gap::until);
  return gap != gaps_.end() && gap->from <= number;
}

// Numbers of a front-end that is far ahead: they would otherwise be taken for the farm's when it gets there.
void NumberOrder::give_up_unconfirmed(TimeNs now) {
  checked_ = now;
  for (auto at = held_.begin(); at != held_.end();) {
    const bool unconfirmed = at->first != next_ && at->second.confirmed == 0;
    if (unconfirmed && now - at->second.since > kConfirmedWithin) {
      at = held_.erase(at);
      ++counts_.unconfirmed;
    } else {
      ++at;
    }
  }
}

}  // namespace weir::numbering
