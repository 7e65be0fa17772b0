#pragma once

#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace weir::source {

// Slices of which fragments arrived before the announcement, by id and in order of their first arrival. The
// fragments themselves are in a row of the owner's. Not thread-safe.
class EarlySlices {
 public:
  struct Slice {
    std::uint32_t row = 0;
    std::uint32_t kept = 0;   // fragments
    std::uint64_t bytes = 0;  // bytes in them
  };

  [[nodiscard]] bool empty() const { return slices_.empty(); }
  [[nodiscard]] std::size_t size() const { return slices_.size(); }
  [[nodiscard]] Slice* find(SliceId slice) {
    const auto at = slices_.find(slice);
    return at == slices_.end() ? nullptr : &at->second.slice;
  }
  // Requires: `slice` is not contained.
  Slice& add(SliceId slice, std::uint32_t row) {
    order_.push_back(slice);
    return slices_.emplace(slice, Node{{row, 0, 0}, std::prev(order_.end())}).first->second.slice;
  }
  std::optional<Slice> take(SliceId slice) {
    const auto at = slices_.find(slice);
    return at == slices_.end() ? std::nullopt : std::optional(take(at));
  }
  // Removes and returns the oldest one. Requires: not empty.
  std::pair<SliceId, Slice> take_oldest() {
    const SliceId slice = order_.front();
    return {slice, take(slices_.find(slice))};
  }
  [[nodiscard]] SliceId oldest() const { return order_.front(); }
  // Removes the slices above `after` (without it: from the lowest) up to `last` for which want(slice) is
  // true, and calls use(slice, taken).
  template <class Want, class Use>
  void take_range(std::optional<SliceId> after, SliceId last, Want&& want, Use&& use) {
    auto at = after ? slices_.upper_bound(*after) : slices_.begin();
    while (at != slices_.end() && at->first <= last) {
      const auto here = at++;
      if (!want(here->first)) continue;
      const SliceId slice = here->first;
      use(slice, take(here));
    }
  }

 private:
  struct Node {
    Slice slice;
    std::list<SliceId>::iterator place;
  };
  Slice take(std::map<SliceId, Node>::iterator at) {
    const Slice slice = at->second.slice;
    order_.erase(at->second.place);
    slices_.erase(at);
    return slice;
  }

  std::map<SliceId, Node> slices_;
  std::list<SliceId> order_;
};

// The slice up to which a source is done, and why its empty slices have no fragment. Not thread-safe.
class PassedSlices {
 public:
  static constexpr std::size_t kRangesMax = 256;  // beyond, the oldest range's reason is forgotten

  [[nodiscard]] std::optional<SliceId> upto() const {
    return ranges_.empty() ? std::nullopt : std::optional(ranges_.back().first);
  }
  // Requires: `upto` is above its previous value.
  void add(SliceId upto, MissingReason reason) {
    if (!ranges_.empty() && ranges_.back().second == reason) {
      ranges_.back().first = upto;
      return;
    }
    ranges_.emplace_back(upto, reason);
    if (ranges_.size() > kRangesMax) ranges_.pop_front();
  }
  // Returns none if the fragment may still arrive.
  [[nodiscard]] MissingReason reason_of(SliceId slice) const {
    if (ranges_.empty() || slice > ranges_.back().first) return MissingReason::none;
    for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
      const auto before = std::next(range);
      if (before == ranges_.rend() || slice > before->first) return range->second;
    }
    return MissingReason::not_produced;
  }
  void clear() { ranges_.clear(); }

 private:
  std::deque<std::pair<SliceId, MissingReason>> ranges_;  // ascending; each up to its id
};

}  // namespace weir::source
