#pragma once

#include <weir/assignment/pending_list.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// The slices that wait for a DCM, in the order of their triggers, with reopened ones in front. Never
// allocates after construction. Pure; one thread.
class WaitingSlices {
 public:
  explicit WaitingSlices(std::size_t capacity) : pending_(capacity) { passed_over_.reserve(kLookAhead); }

  // Makes room for at least `capacity` slices. Requires: no slice waits.
  void make_room(std::size_t capacity);
  // Appends a slice.
  void add(SliceId slice, SliceOrder order) { pending_.push_back({slice, order}); }
  // Inserts a reopened slice, ordered by age: the readouts hold the oldest, regardless of their room for
  // others.
  void put_back(SliceId slice, SliceOrder order);
  // Removes a slice. Costs a walk over the whole list.
  void erase(SliceId slice) { pending_.erase(slice); }
  void clear() { pending_.clear(); }

  // Calls give(SliceId) for one slice after the other, while more(); true: that slice was assigned and is
  // removed. The others keep their places, and the slices behind them are tried, up to kLookAhead: a policy
  // may leave slices waiting for their own DCM.
  template <class More, class Give>
  void hand_out(More more, Give give) {
    passed_over_.clear();
    while (more() && !pending_.empty() && passed_over_.size() < kLookAhead) {
      const PendingList::Slice slice = pending_.pop_front();
      if (!give(slice.id)) passed_over_.push_back(slice);
    }
    for (; !passed_over_.empty(); passed_over_.pop_back()) pending_.push_front(passed_over_.back());
    stuck_ = !pending_.empty();
  }
  static constexpr std::size_t kLookAhead = 256;

  // A credit was returned, or a DCM joined or resumed: hand_out() may assign more than last time.
  void look_again() { stuck_ = false; }
  [[nodiscard]] bool is_stuck() const { return stuck_; }

  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  // For SupervisorMachine::append_state().
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  PendingList pending_;
  std::vector<PendingList::Slice> passed_over_;
  bool stuck_ = true;  // no further slice can be assigned
};

}  // namespace weir::assignment
