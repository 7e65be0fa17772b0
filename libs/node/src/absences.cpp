#include <weir/node/absences.hpp>

#include <cstdint>

namespace weir::node {

using assignment::AbsenceRange;

void put_absences(const std::vector<AbsenceRange>& ranges, v1::Absences& out) {
  for (const AbsenceRange& range : ranges) {
    v1::Absences::Range& row = *out.add_ranges();
    row.set_readout(range.readout.value);
    row.set_from_slice(range.from.value);
    row.set_until_slice(range.until == AbsenceRange::kOpen ? 0 : range.until.value);
  }
}

std::vector<AbsenceRange> ranges_of(const v1::Absences& message) {
  std::vector<AbsenceRange> ranges;
  for (const v1::Absences::Range& row : message.ranges()) {
    AbsenceRange& range = ranges.emplace_back();
    range.readout = NodeIndex(static_cast<std::uint16_t>(row.readout()));
    range.from = SliceId(row.from_slice());
    if (row.until_slice() != 0) range.until = SliceId(row.until_slice());
  }
  return ranges;
}

}  // namespace weir::node
