#include <weir/base/assert.hpp>
#include <weir/slice_rows/id_intervals.hpp>

#include <algorithm>
#include <iterator>

namespace weir::slice_rows {

std::optional<IdInterval> IdIntervals::at_or_below(SliceId id) const {
  if (highest_ && highest_->first <= id) return highest_;
  const auto above = lower_.upper_bound(id);
  if (above == lower_.begin()) return std::nullopt;
  return IdInterval{std::prev(above)->first, std::prev(above)->second};
}

bool IdIntervals::contains(SliceId id) const {
  if (!highest_ || id > highest_->last) return false;
  const auto below = at_or_below(id);
  return below && id <= below->last;
}

bool IdIntervals::needs_interval(SliceId id) const {
  const auto below = at_or_below(id);
  if (below && (id <= below->last || id.value - below->last.value == 1)) return false;
  if (id.value == UINT64_MAX) return true;
  const auto next = at_or_below(id.next());
  return !next || next->first != id.next();
}

void IdIntervals::add_elsewhere(SliceId id) {
  if (!contains(id)) add(IdInterval{id, id});
}

void IdIntervals::add(const IdInterval& interval) {
  WEIR_ASSERT(interval.first <= interval.last);
  IdInterval merged = interval;
  // The highest interval is treated like the others, and taken out again.
  if (highest_) lower_.emplace(highest_->first, highest_->last);
  auto at = lower_.upper_bound(merged.first);
  const auto reaches = [&merged](SliceId last) {
    return last >= merged.first || merged.first.value - last.value == 1;
  };
  if (at != lower_.begin() && reaches(std::prev(at)->second)) --at;
  while (at != lower_.end() && (at->first <= merged.last || at->first.value - merged.last.value == 1)) {
    merged.first = std::min(merged.first, at->first);
    merged.last = std::max(merged.last, at->second);
    at = lower_.erase(at);
  }
  lower_.emplace_hint(at, merged.first, merged.last);
  const auto highest = std::prev(lower_.end());
  highest_ = IdInterval{highest->first, highest->second};
  lower_.erase(highest);
}

std::vector<IdInterval> IdIntervals::intervals() const {
  std::vector<IdInterval> all;
  all.reserve(size());
  for (const auto& [first, last] : lower_) all.push_back({first, last});
  if (highest_) all.push_back(*highest_);
  return all;
}

}  // namespace weir::slice_rows
