#pragma once

#include <weir/assembly/built_slice.hpp>

#include <cstdint>
#include <vector>

namespace weir::dcm {

// For each readout, the list of slices that want data from it, oldest first. Changes and lookups take
// constant time, whatever the number of slices and readouts.
class RequestQueues {
 public:
  explicit RequestQueues(std::uint32_t readouts) : lists_(readouts) {}

  // No effect if the slice is already listed. A slice that is added again is among the oldest.
  void add(assembly::BuiltSlice& slice, std::uint32_t readout);
  void remove(assembly::BuiltSlice& slice, std::uint32_t readout);
  void remove_all_of(std::uint32_t readout);
  [[nodiscard]] assembly::BuiltSlice* oldest(std::uint32_t readout) const { return lists_[readout].oldest; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Number of slices that add() passed over and remove_all_of() removed: the cost so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  // Visits slices that joined the readout's list since the last call, or since look_again(), and are before
  // `order`.
  template <class Visit>
  void look_at_new(std::uint32_t readout, std::uint64_t order, Visit visit) {
    assembly::BuiltSlice*& next = lists_[readout].next;
    for (; next != nullptr && next->gathering.order < order; next = next->gathering.parts[readout].newer)
      visit(*next);
  }
  void look_again(std::uint32_t readout) { lists_[readout].next = lists_[readout].oldest; }

 private:
  struct List {
    assembly::BuiltSlice* oldest = nullptr;
    assembly::BuiltSlice* newest = nullptr;
    assembly::BuiltSlice* next = nullptr;  // the first that was not looked at
  };
  std::vector<List> lists_;
  std::size_t size_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace weir::dcm
