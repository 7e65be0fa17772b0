#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <optional>

namespace weir::assignment {

// The ids of a run's slices: which one is next, and which may still be given. Pure; one thread.
class SliceIds {
 public:
  explicit SliceIds(SliceId first) : next_(first) {}

  // Another process of the supervisor gave ids below `next`; which of them is not known any more.
  void resume(SliceId next) {
    next_ = std::max(next_, next);
    resumed_below_ = next_;
  }

  // For a trigger without an id; above all that were given.
  [[nodiscard]] SliceId next() const { return next_; }
  [[nodiscard]] bool used_up() const { return next_ > kSliceIdMax; }
  // There is such an id, or, for a trigger without one, a next one.
  [[nodiscard]] bool is_good(const std::optional<SliceId>& named) const {
    return named ? *named <= kSliceIdNamedMax : !used_up();
  }
  // It may have been given by the process before.
  [[nodiscard]] bool may_be_given(SliceId slice) const { return slice < resumed_below_; }
  [[nodiscard]] SliceId given_before() const { return resumed_below_; }

  // This slice is triggered. Named ones need not ascend.
  void give(SliceId slice) {
    WEIR_ASSERT(slice <= kSliceIdMax && !may_be_given(slice));
    next_ = std::max(next_, slice.next());
  }

 private:
  SliceId next_;
  SliceId resumed_below_;
};

}  // namespace weir::assignment
