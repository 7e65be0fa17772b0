#pragma once

#include <weir/assembly/built_slice.hpp>

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::assembly {

// All slices of a DCM: a list for each state, and the open ones by id and in the order of opening. The table
// alone changes a slice's state. It ends the process (WEIR_ASSERT) on a transition outside kSliceTransitions,
// and if the slice does not fulfil the conditions of its new state. Objects are reused and never freed: their
// number is the maximum of slices at a time. One thread.
class SliceTable {
 public:
  using List = boost::intrusive::list<BuiltSlice, boost::intrusive::base_hook<StateHook>>;
  using Order = boost::intrusive::list<BuiltSlice, boost::intrusive::base_hook<OrderHook>>;

  SliceTable() = default;
  ~SliceTable();
  SliceTable(const SliceTable&) = delete;
  SliceTable& operator=(const SliceTable&) = delete;

  // A slice that is assigned, and not open yet.
  BuiltSlice& assign(AssignedSlice assignment);
  // Moves a slice to waiting_for_memory. Returns false if another attempt of it is open.
  [[nodiscard]] bool open(BuiltSlice& slice);
  // Moves a slice to released: it is no longer open.
  void close(BuiltSlice& slice);
  // Moves a slice to any other state, as the last one of that state's list.
  void change(BuiltSlice& slice, BuildState to);

  // The slices of a state, in the order in which they reached it.
  [[nodiscard]] const List& in(BuildState state) const { return lists_[static_cast<std::size_t>(state)]; }
  [[nodiscard]] BuiltSlice* first_in(BuildState state) {
    List& list = list_of(state);
    return list.empty() ? nullptr : &list.front();
  }
  // Calls `visit` for each slice of the state, whichever of them it takes elsewhere.
  template <class Visit>
  void for_each_in(BuildState state, Visit visit) {
    List& list = list_of(state);
    std::size_t left = list.size();
    for (auto at = list.begin(); left > 0; --left) visit(*at++);
  }
  // Returns the first slice of the state for which `wanted` is true, or null.
  template <class Wanted>
  [[nodiscard]] BuiltSlice* find_in(BuildState state, Wanted wanted) {
    for (BuiltSlice& slice : list_of(state)) {
      if (wanted(std::as_const(slice))) return &slice;
    }
    return nullptr;
  }

  // Returns an open slice, or null.
  [[nodiscard]] BuiltSlice* find(SliceId slice, Attempt attempt) const;
  // As above, for callers that know the slot; a wrong one costs a lookup in the table.
  [[nodiscard]] BuiltSlice* find(SliceId slice, Attempt attempt, std::uint64_t slot) const;
  [[nodiscard]] bool is_open(SliceId slice) const { return by_id_.contains(slice); }  // for any attempt
  [[nodiscard]] std::size_t open_count() const { return by_id_.size(); }
  // Visits in the order of opening: a farm's behaviour must not depend on the layout of a hash table.
  template <class Visit>
  void for_each_open(Visit visit) {
    for (BuiltSlice& slice : order_) visit(slice);
  }
  template <class Visit>
  void for_each_open_newest_first(Visit visit) {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) visit(*at);
  }
  // Returns the slice opened next, or null.
  [[nodiscard]] BuiltSlice* opened_after(BuiltSlice& slice) {
    const auto next = std::next(order_.iterator_to(slice));
    return next == order_.end() ? nullptr : &*next;
  }
  // As BuiltSlice::slot says.
  [[nodiscard]] BuiltSlice& in_slot(std::uint64_t slot) const;

  // Memory of decided slices that wait for their writer or for another DCM: from the report of the decision
  // to the release.
  [[nodiscard]] std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // Accepted slices, from the report of the decision to the release: built, and waiting for their writer.
  [[nodiscard]] std::size_t accepted_count() const { return accepted_count_; }
  // Looks at all of them. Empty: all is well.
  [[nodiscard]] std::string broken_invariant() const;

 private:
  [[nodiscard]] List& list_of(BuildState state) { return lists_[static_cast<std::size_t>(state)]; }

  std::vector<std::unique_ptr<BuiltSlice>> all_;
  std::array<List, kSliceStates> lists_;
  Order order_;
  boost::unordered_flat_map<SliceId, BuiltSlice*, std::hash<SliceId>> by_id_;
  std::uint64_t accepted_bytes_ = 0;
  std::size_t accepted_count_ = 0;
};

}  // namespace weir::assembly
