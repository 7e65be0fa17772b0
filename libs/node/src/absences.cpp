#include <weir/node/absences.hpp>

#include <cstdint>

namespace weir::node {

using slice_rows::AbsenceRange;

void put_absences(const std::vector<AbsenceRange>& ranges, v1::Absences& out) {
  for (const AbsenceRange& range : ranges) {
    v1::Absences::Range& row = *out.add_ranges();
    row.set_readout(range.readout.value);
    row.set_from_order(range.from.value);
    row.set_until_order(range.until == AbsenceRange::kOpen ? 0 : range.until.value);
  }
}

std::vector<AbsenceRange> ranges_of(const v1::Absences& message) {
  std::vector<AbsenceRange> ranges;
  for (const v1::Absences::Range& row : message.ranges()) {
    AbsenceRange& range = ranges.emplace_back();
    range.readout = NodeIndex(static_cast<std::uint16_t>(row.readout()));
    range.from = SliceOrder(row.from_order());
    if (row.until_order() != 0) range.until = SliceOrder(row.until_order());
  }
  return ranges;
}

}  // namespace weir::node
