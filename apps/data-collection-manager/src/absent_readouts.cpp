#include "absent_readouts.hpp"

#include <utility>

namespace weir::dcm {

std::vector<std::uint32_t> AbsentReadouts::replace(slice_rows::AbsenceTable table) {
  std::vector<std::uint32_t> returned;
  for (std::uint32_t readout = 0; readout < found_.by_readout.size(); ++readout) {
    const NodeIndex index(static_cast<std::uint16_t>(readout));
    if (table_.is_out(index) && !table.is_out(index)) returned.push_back(readout);
  }
  steps_ += table_.steps();
  table_ = std::move(table);
  return returned;
}

const AbsentReadouts::Set& AbsentReadouts::find(SliceOrder slice) {
  found_.readouts.clear();
  if (!table_.may_cover(slice)) return found_;
  for (std::uint32_t readout = 0; readout < found_.by_readout.size(); ++readout) {
    found_.by_readout[readout] = is_absent(readout, slice);
    if (found_.by_readout[readout]) found_.readouts.push_back(readout);
  }
  return found_;
}

}  // namespace weir::dcm
