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

// All slices of a collector: a list for each state, the open ones under their id and in the order of opening.
// It alone changes a slice's state. Each change is one that the table of transitions has, and leaves
// the slice as its new state wants it; else the process ends (WEIR_ASSERT). Slices' objects are used again,
// and never given back: there are as many as there were slices at one time. One thread.
class SliceTable {
 public:
  using List = boost::intrusive::list<BuiltSlice, boost::intrusive::base_hook<StateHook>>;
  using Order = boost::intrusive::list<BuiltSlice, boost::intrusive::base_hook<OrderHook>>;

  SliceTable() = default;
  ~SliceTable();
  SliceTable(const SliceTable&) = delete;
  SliceTable& operator=(const SliceTable&) = delete;

  // A slice that is assigned, and not open yet.
  BuiltSlice& assign(Assignment assignment);
  // To waiting_for_memory. False: another attempt of it is open.
  [[nodiscard]] bool open(BuiltSlice& slice);
  // To released: it is not open any more.
  void close(BuiltSlice& slice);
  // To any other state. It is the last one in that state's list then.
  void change(BuiltSlice& slice, SliceState to);

  // In the order in which they came to it.
  [[nodiscard]] const List& in(SliceState state) const { return lists_[static_cast<std::size_t>(state)]; }
  [[nodiscard]] BuiltSlice* first_in(SliceState state) {
    List& list = list_of(state);
    return list.empty() ? nullptr : &list.front();
  }
  // Calls `visit` for each slice of the state, whichever of them it takes elsewhere.
  template <class Visit>
  void for_each_in(SliceState state, Visit visit) {
    List& list = list_of(state);
    std::size_t left = list.size();
    for (auto at = list.begin(); left > 0; --left) visit(*at++);
  }
  // The first one that `wanted` is true of; null: none.
  template <class Wanted>
  [[nodiscard]] BuiltSlice* find_in(SliceState state, Wanted wanted) {
    for (BuiltSlice& slice : list_of(state)) {
      if (wanted(std::as_const(slice))) return &slice;
    }
    return nullptr;
  }

  // Of those that are open.
  [[nodiscard]] BuiltSlice* find(SliceId slice, Attempt attempt) const;
  // The same, for who has been told the slot; one that is not right costs a look into the table.
  [[nodiscard]] BuiltSlice* find(SliceId slice, Attempt attempt, std::uint64_t slot) const;
  [[nodiscard]] bool is_open(SliceId slice) const { return by_id_.contains(slice); }  // whatever attempt
  [[nodiscard]] std::size_t open_count() const { return by_id_.size(); }
  // In the order of opening: what a farm does shall not depend on how a table of hashes is made.
  template <class Visit>
  void for_each_open(Visit visit) {
    for (BuiltSlice& slice : order_) visit(slice);
  }
  template <class Visit>
  void for_each_open_newest_first(Visit visit) {
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) visit(*at);
  }
  // The one that was opened next; null: none.
  [[nodiscard]] BuiltSlice* opened_after(BuiltSlice& slice) {
    const auto next = std::next(order_.iterator_to(slice));
    return next == order_.end() ? nullptr : &*next;
  }
  // As BuiltSlice::slot says.
  [[nodiscard]] BuiltSlice& in_slot(std::uint64_t slot) const;

  // Memory of accepted slices that wait for their writer: from the report of the decision to the release.
  [[nodiscard]] std::uint64_t accepted_bytes() const { return accepted_bytes_; }
  // Looks at all of them. Empty: all is well.
  [[nodiscard]] std::string broken_invariant() const;

 private:
  [[nodiscard]] List& list_of(SliceState state) { return lists_[static_cast<std::size_t>(state)]; }

  std::vector<std::unique_ptr<BuiltSlice>> all_;
  std::array<List, kSliceStates> lists_;
  Order order_;
  boost::unordered_flat_map<SliceId, BuiltSlice*, std::hash<SliceId>> by_id_;
  std::uint64_t accepted_bytes_ = 0;
};

}  // namespace weir::assembly
