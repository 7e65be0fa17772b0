#include <weir/assignment/absences.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assignment {

void AbsenceTable::leave(NodeIndex readout, SliceId from) {
  WEIR_ASSERT(!is_out(readout));
  ++number_;
  ranges_.push_back({readout, from});
  const auto ended = [](const AbsenceRange& range) { return range.until != AbsenceRange::kOpen; };
  if (static_cast<std::size_t>(std::count_if(ranges_.begin(), ranges_.end(), ended)) <= kEndedMax) return;
  ranges_.erase(std::find_if(ranges_.begin(), ranges_.end(), ended));
}

void AbsenceTable::join(NodeIndex readout, SliceId from) {
  const auto open = std::find_if(ranges_.begin(), ranges_.end(), [readout](const AbsenceRange& range) {
    return range.readout == readout && range.until == AbsenceRange::kOpen;
  });
  if (open == ranges_.end()) return;
  ++number_;
  open->until = from;
  if (open->from >= from) ranges_.erase(open);
}

bool AbsenceTable::replace(std::vector<AbsenceRange> ranges) {
  constexpr std::size_t kMax = kEndedMax + std::numeric_limits<std::uint16_t>::max();
  const auto is_empty = [](const AbsenceRange& range) { return range.from >= range.until; };
  if (ranges.size() > kMax || std::any_of(ranges.begin(), ranges.end(), is_empty)) return false;
  ++number_;
  ranges_ = std::move(ranges);
  return true;
}

bool AbsenceTable::covers(NodeIndex readout, SliceId slice) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const AbsenceRange& range) {
    return range.readout == readout && range.covers(slice);
  });
}

bool AbsenceTable::is_out(NodeIndex readout) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [readout](const AbsenceRange& range) {
    return range.readout == readout && range.until == AbsenceRange::kOpen;
  });
}

}  // namespace weir::assignment
