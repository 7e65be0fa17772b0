#include <weir/base/assert.hpp>
#include <weir/slice_rows/destinations.hpp>

#include <utility>

namespace weir::slice_rows {

void DestinationTable::change(SliceId from, std::vector<NodeIndex> dcms) {
  WEIR_ASSERT(epochs_.empty() || epochs_.back().from <= from);
  const std::uint32_t next = number() + 1;
  if (!epochs_.empty() && epochs_.back().from == from) epochs_.pop_back();
  epochs_.push_back({next, from, std::move(dcms)});
  if (epochs_.size() > kEpochsMax) epochs_.erase(epochs_.begin());
}

bool DestinationTable::replace(std::vector<DestinationEpoch> epochs) {
  if (epochs.size() > kEpochsMax) return false;
  for (std::size_t i = 1; i < epochs.size(); ++i) {
    if (epochs[i - 1].number >= epochs[i].number || epochs[i - 1].from >= epochs[i].from) return false;
  }
  epochs_ = std::move(epochs);
  return true;
}

std::optional<NodeIndex> DestinationTable::of(SliceId slice) const {
  for (auto epoch = epochs_.rbegin(); epoch != epochs_.rend(); ++epoch) {
    if (slice < epoch->from) continue;
    if (epoch->dcms.empty()) return std::nullopt;
    return epoch->dcms[slice.value % epoch->dcms.size()];
  }
  return std::nullopt;
}

}  // namespace weir::slice_rows
