#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/assert.hpp>
#include <weir/slice_rows/id_intervals.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace weir::assignment {

// The slice ids of a run: the next one, and the exact set of those given. Pure; one thread.
class SliceIds {
 public:
  // `intervals_max`: an id that needs a further interval is vetoed.
  SliceIds(SliceId first, std::size_t intervals_max) : next_(first), intervals_max_(intervals_max) {}

  // Restores the ids given by earlier supervisor processes; `next` is the next id.
  void resume(const std::vector<IdInterval>& given, SliceId next) {
    for (const IdInterval& interval : given) given_.add(interval);
    next_ = std::max(next_, next);
    if (!given_.empty()) next_ = std::max(next_, given_.highest().next());
  }

  // The id of the next trigger without one; above all given ids.
  [[nodiscard]] SliceId next() const { return next_; }
  [[nodiscard]] bool used_up() const { return next_ > kSliceIdMax; }
  // Returns false if the id is out of range or, for a trigger without one, ids are used up.
  [[nodiscard]] bool is_good(const std::optional<SliceId>& named) const {
    return named ? *named <= kSliceIdNamedMax : !used_up();
  }
  // Returns the reason why this id cannot be given: duplicate_id if it was given, however long ago;
  // id_memory_full if it needs another interval and none is left.
  [[nodiscard]] VetoReason veto(SliceId slice) const {
    const bool is_next =
        !given_.empty() && slice.value == given_.highest().value + 1;  // ids end far below 2^64
    if (is_next) return VetoReason::none;
    if (given_.contains(slice)) return VetoReason::duplicate_id;
    const bool fits = given_.size() < intervals_max_ || !given_.needs_interval(slice);
    return fits ? VetoReason::none : VetoReason::id_memory_full;
  }

  // Marks the id as given. Ids named by triggers need not ascend. Requires: veto(slice) is none.
  void give(SliceId slice) {
    WEIR_ASSERT(slice <= kSliceIdMax);
    given_.add(slice);
    next_ = std::max(next_, slice.next());
  }
  [[nodiscard]] const IdIntervals& given() const { return given_; }

 private:
  SliceId next_;
  std::size_t intervals_max_;
  IdIntervals given_;
};

}  // namespace weir::assignment
