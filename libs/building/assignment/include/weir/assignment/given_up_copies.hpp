#pragma once

#include <weir/assignment/run_state.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace weir::assignment {

// Copies with a revoked confirmation, for the whole run: a writer may have such a copy on disk or
// report it later, and it does not count. Pure; one thread.
class GivenUpCopies {
 public:
  // Copies beyond this bound are forgotten; if their writer reports them later, they count as live.
  static constexpr std::size_t kRememberedMax = 1'000'000;

  // Counts for one writer.
  struct Count {
    std::uint64_t all = 0;  // including those beyond the bound
    std::uint64_t orphans =
        0;  // of slices that ended without being stored: no copy with a higher epoch marks them as dead
  };

  explicit GivenUpCopies(std::size_t writers, std::size_t remembered_max = kRememberedMax)
      : counts_(writers), remembered_max_(remembered_max) {}

  void add(const GivenUpCopy& copy);
  // The slice is settled without being stored: its copies are orphans.
  void orphan(SliceId slice);
  // The copy counts after all. A copy that is not remembered stays counted.
  void take_back(SliceId slice, NodeIndex writer, StoreEpoch epoch);

  [[nodiscard]] bool has(SliceId slice, NodeIndex writer, StoreEpoch epoch) const;
  [[nodiscard]] const Count& of(NodeIndex writer) const { return counts_[writer.value]; }
  // True if this writer may have a copy of a slice for which wanted(SliceId) holds. Costs a pass over all
  // copies.
  template <class Wanted>
  [[nodiscard]] bool any_of(NodeIndex writer, Wanted wanted) const {
    for (const auto& [slice, copy] : copies_) {
      if (copy.writer == writer && wanted(slice)) return true;
    }
    return false;
  }

  // Appends the copies, sorted by slice.
  void append(std::vector<GivenUpCopy>& out) const;
  // For SupervisorMachine::append_state().
  void append_state(std::vector<std::uint64_t>& out) const;

 private:
  struct Copy {
    NodeIndex writer;
    StoreEpoch epoch;
    bool orphan = false;
  };
  using Copies = std::multimap<SliceId, Copy>;

  [[nodiscard]] Copies::const_iterator find(SliceId slice, NodeIndex writer, StoreEpoch epoch) const;
  // Null if the farm no longer has the writer.
  [[nodiscard]] Count* count_of(NodeIndex writer) {
    return writer.value < counts_.size() ? &counts_[writer.value] : nullptr;
  }

  Copies copies_;
  std::vector<Count> counts_;  // by writer
  std::size_t remembered_max_;
};

}  // namespace weir::assignment
