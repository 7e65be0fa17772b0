#pragma once

#include <weir/slice_rows/absences.hpp>

#include <cstdint>
#include <vector>

namespace weir::dcm {

// The readouts without a part in some slices, as the supervisor declares them. Pure.
class AbsentReadouts {
 public:
  // Absent from one slice.
  struct Set {
    std::vector<std::uint32_t> readouts;  // ascending
    std::vector<bool> by_readout;

    [[nodiscard]] bool empty() const { return readouts.empty(); }
    [[nodiscard]] bool contains(std::uint32_t readout) const { return !empty() && by_readout[readout]; }
  };

  explicit AbsentReadouts(std::uint32_t readouts) { found_.by_readout.resize(readouts); }

  // Replaces the table. Returns the readouts that were out of the run and are part of it again.
  std::vector<std::uint32_t> replace(slice_rows::AbsenceTable table);
  // Returns the readouts that are absent from this slice; valid until the next call.
  [[nodiscard]] const Set& find(SliceOrder slice);
  [[nodiscard]] bool is_absent(std::uint32_t readout, SliceOrder slice) const {
    return table_.may_cover(slice) && table_.covers(NodeIndex(static_cast<std::uint16_t>(readout)), slice);
  }
  // Returns the number of ranges visited so far: the cost of lookups.
  [[nodiscard]] std::uint64_t steps() const { return steps_ + table_.steps(); }

 private:
  slice_rows::AbsenceTable table_;
  Set found_;
  std::uint64_t steps_ = 0;  // of earlier tables
};

}  // namespace weir::dcm
