#pragma once

#include <weir/assignment/run_state.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace weir::assignment {

// Copies whose confirmation was taken back, for the whole run: a writer may have one on disk, or come back
// with it, and it does not count. Pure; one thread.
class GivenUpCopies {
 public:
  // What is forgotten beyond this bound counts as live when a writer comes with it.
  static constexpr std::size_t kRememberedMax = 1'000'000;

  // Of one writer.
  struct Count {
    std::uint64_t all = 0;  // those beyond the bound, too
    std::uint64_t orphans =
        0;  // of slices that were not stored after all: no copy with a higher epoch says so
  };

  explicit GivenUpCopies(std::size_t writers, std::size_t remembered_max = kRememberedMax)
      : counts_(writers), remembered_max_(remembered_max) {}

  void add(const GivenUpCopy& copy);
  // The slice is settled, and not stored: its copies are orphans.
  void orphan(SliceId slice);
  // The copy counts after all. One that is not remembered stays counted.
  void take_back(SliceId slice, NodeIndex writer, StoreEpoch epoch);

  [[nodiscard]] bool has(SliceId slice, NodeIndex writer, StoreEpoch epoch) const;
  [[nodiscard]] const Count& of(NodeIndex writer) const { return counts_[writer.value]; }
  // Whether a slice of which this writer may have a copy is wanted(SliceId). Costs a pass over all copies.
  template <class Wanted>
  [[nodiscard]] bool any_of(NodeIndex writer, Wanted wanted) const {
    for (const auto& [slice, copy] : copies_) {
      if (copy.writer == writer && wanted(slice)) return true;
    }
    return false;
  }

  // By slice.
  void append(std::vector<GivenUpCopy>& out) const;
  // SupervisorMachine::append_state()
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  struct Copy {
    NodeIndex writer;
    StoreEpoch epoch;
    bool orphan = false;
  };
  using Copies = std::multimap<SliceId, Copy>;

  [[nodiscard]] Copies::const_iterator find(SliceId slice, NodeIndex writer, StoreEpoch epoch) const;
  // Null of a writer that the farm does not have any more.
  [[nodiscard]] Count* count_of(NodeIndex writer) {
    return writer.value < counts_.size() ? &counts_[writer.value] : nullptr;
  }

  Copies copies_;
  std::vector<Count> counts_;  // by writer
  std::size_t remembered_max_;
};

}  // namespace weir::assignment
