#pragma once

#include <weir/assignment/pending_list.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::assignment {

// The slices that wait for a DCM: pending ones in the order of their triggers, with reopened ones in front;
// and suspects in a list of their own. Never allocates after construction. Pure; one thread.
class WaitingSlices {
 public:
  explicit WaitingSlices(std::size_t capacity) : pending_(capacity), suspects_(capacity) {
    passed_over_.reserve(kLookAhead);
  }

  // Of none that wait: room for as many of each kind, at least.
  void make_room(std::size_t capacity);
  // A slice waits that did not: behind all others.
  void add(SliceId slice, bool suspect) { list_of(suspect).push_back(slice); }
  // A reopened one: the oldest first, for readouts have it, whatever else they have no room for.
  void put_back(SliceId slice, bool suspect);
  // It waits no more: looks through the whole list.
  void erase(SliceId slice, bool suspect) { list_of(suspect).erase(slice); }
  void clear();

  // Calls give(SliceId) for one after the other, while more(); true: that slice was given to a DCM, and waits
  // no more. The others keep their places, and those behind them are looked at, up to kLookAhead: a policy
  // may leave slices waiting for their own DCM.
  template <class More, class Give>
  void hand_out(More more, Give give) {
    walk(pending_, more, give);
    stuck_ = !pending_.empty();
  }
  template <class More, class Give>
  void hand_out_suspects(More more, Give give) {
    walk(suspects_, more, give);
  }
  static constexpr std::size_t kLookAhead = 256;

  // A credit came back, a DCM came or goes on: hand_out() might give more than it did last time.
  void look_again() { stuck_ = false; }
  [[nodiscard]] bool is_stuck() const { return stuck_; }

  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  [[nodiscard]] std::size_t suspects() const { return suspects_.size(); }
  // SupervisorMachine::append_state()
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  [[nodiscard]] PendingList& list_of(bool suspect) { return suspect ? suspects_ : pending_; }
  template <class More, class Give>
  void walk(PendingList& list, More more, Give give) {
    passed_over_.clear();
    while (more() && !list.empty() && passed_over_.size() < kLookAhead) {
      const SliceId slice = list.pop_front();
      if (!give(slice)) passed_over_.push_back(slice);
    }
    for (; !passed_over_.empty(); passed_over_.pop_back()) list.push_front(passed_over_.back());
  }

  PendingList pending_;
  PendingList suspects_;
  std::vector<SliceId> passed_over_;
  bool stuck_ = true;  // no DCM can be given more
};

}  // namespace weir::assignment
