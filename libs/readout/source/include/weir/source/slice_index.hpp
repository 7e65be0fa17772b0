#pragma once

#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace weir::source {

// Maps slice ids to small numbers. Densely ascending ids, the common case, have their own places in a table
// by their low bits; an id that finds its place taken goes to a hash map. Any ids work, and the common ones
// cost one memory access. Not thread-safe.
class SliceIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Requires: about `expected` ids at a time; more of them work, but slower.
  explicit SliceIndex(std::size_t expected) : table_(std::bit_ceil(2 * expected + 1)) {}

  // Returns kNone if it is not contained.
  [[nodiscard]] std::uint32_t find(SliceId slice) const {
    const Place& place = table_[slot(slice)];
    if (place.value != kNone && place.slice == slice) return place.value;
    if (overflow_.empty()) return kNone;
    const auto at = overflow_.find(slice.value);
    return at == overflow_.end() ? kNone : at->second;
  }
  // Requires: `slice` is not contained, and `value` is not kNone.
  void insert(SliceId slice, std::uint32_t value) {
    Place& place = table_[slot(slice)];
    if (place.value == kNone) {
      place = {slice, value};
    } else {
      overflow_.emplace(slice.value, value);
    }
  }
  void erase(SliceId slice) {
    Place& place = table_[slot(slice)];
    if (place.value != kNone && place.slice == slice) {
      place.value = kNone;
    } else {
      overflow_.erase(slice.value);
    }
  }

 private:
  struct Place {
    SliceId slice;
    std::uint32_t value = kNone;
  };

  [[nodiscard]] std::size_t slot(SliceId slice) const { return slice.value & (table_.size() - 1); }

  std::vector<Place> table_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> overflow_;
};

// Slices that will not be made but may still be requested or announced, each with the answer to give. At most
// `capacity`; beyond, the oldest note is forgotten. Not thread-safe.
class SliceNotes {
 public:
  explicit SliceNotes(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::optional<MissingReason> find(SliceId slice) const {
    if (notes_.empty()) return std::nullopt;
    const auto at = notes_.find(slice.value);
    return at == notes_.end() ? std::nullopt : std::optional(at->second);
  }
  // Returns how many notes were forgotten to make room (0 or 1). A slice that is noted already keeps its
  // first reason.
  std::size_t add(SliceId slice, MissingReason reason) {
    if (!notes_.emplace(slice.value, reason).second) return 0;
    order_.push_back(slice);
    if (order_.size() <= capacity_) return 0;
    notes_.erase(order_.front().value);
    order_.pop_front();
    return 1;
  }
  void clear() {
    notes_.clear();
    order_.clear();
  }

 private:
  std::size_t capacity_;
  boost::unordered_flat_map<std::uint64_t, MissingReason> notes_;
  std::deque<SliceId> order_;
};

// Slices that will never be announced, as ranges. Bounded: beyond, the lowest range is forgotten. Ranges
// ascend; a part that does not is ignored.
class SkippedSlices {
 public:
  explicit SkippedSlices(std::size_t capacity) : capacity_(capacity) {}

  // Requires: first <= last.
  void add(SliceId first, SliceId last) {
    if (!ranges_.empty()) {
      Range& top = ranges_.back();
      if (last <= top.last) return;
      if (first.value <= top.last.value + 1) {
        top.last = last;
        return;
      }
    }
    ranges_.push_back({first, last});
    if (ranges_.size() > capacity_) ranges_.pop_front();
  }
  [[nodiscard]] bool contains(SliceId slice) const {
    if (ranges_.empty() || slice > ranges_.back().last) return false;
    const auto at = std::ranges::lower_bound(ranges_, slice, {}, &Range::last);
    return at->first <= slice;
  }
  void clear() { ranges_.clear(); }

 private:
  struct Range {
    SliceId first;
    SliceId last;
  };
  std::size_t capacity_;
  std::deque<Range> ranges_;  // ascending
};

}  // namespace weir::source
