#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace weir::assignment {

// Slice ids from `first` to `last`, both included.
struct IdInterval {
  SliceId first;
  SliceId last;
  bool operator==(const IdInterval&) const = default;
};

// An exact set of slice ids, kept as intervals: ids without gaps cost nothing, whatever their order; of
// sparse ids each takes an interval (some 64 bytes). An id directly above the highest costs constant time,
// any other the logarithm of the number of intervals. Pure; one thread.
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
  // The interval that begins at or below the id; null: the id is below all.
  [[nodiscard]] std::optional<IdInterval> at_or_below(SliceId id) const;
  void add_elsewhere(SliceId id);

  std::map<SliceId, SliceId> lower_;   // first -> last, of all but the highest interval
  std::optional<IdInterval> highest_;  // apart from the others: most ids extend it
};

}  // namespace weir::assignment
