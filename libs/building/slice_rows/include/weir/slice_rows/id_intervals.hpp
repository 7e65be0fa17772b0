#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weir::slice_rows {

// Slice ids from `first` to `last`, inclusive.
struct IdInterval {
  SliceId first;
  SliceId last;
  bool operator==(const IdInterval&) const = default;
};

// An exact set of slice ids, stored as intervals: ids without gaps need no further memory in any order; with
// sparse ids each takes an interval (about 64 bytes). Adding an id directly above the highest takes constant
// time, any other the logarithm of the number of intervals. Pure; one thread.
class IdIntervals {
 public:
  [[nodiscard]] bool contains(SliceId id) const;
  // True if neither the id nor a neighbour of it is in the set: add() would make another interval.
  [[nodiscard]] bool needs_interval(SliceId id) const;
  // No effect if the id is in the set.
  void add(SliceId id) {
    if (highest_ && id > highest_->last && id.value - highest_->last.value == 1) {
      highest_->last = id;
    } else {
      add_elsewhere(id);
    }
  }
  // Adds all ids of an interval. Requires: first <= last.
  void add(const IdInterval& interval);

  // Number of intervals.
  [[nodiscard]] std::size_t size() const { return lower_.size() + (highest_ ? 1U : 0U); }
  [[nodiscard]] bool empty() const { return !highest_; }
  // Requires: not empty().
  [[nodiscard]] SliceId highest() const { return highest_->last; }
  // Ascending, disjoint, with at least one id between two of them. Costs a walk over all of them.
  [[nodiscard]] std::vector<IdInterval> intervals() const;

 private:
  // Returns the interval that begins at or below the id; nullopt if the id is below all.
  [[nodiscard]] std::optional<IdInterval> at_or_below(SliceId id) const;
  void add_elsewhere(SliceId id);

  std::map<SliceId, SliceId> lower_;   // first -> last, of all but the highest interval
  std::optional<IdInterval> highest_;  // separate from the others, because most ids extend it
};

}  // namespace weir::slice_rows
