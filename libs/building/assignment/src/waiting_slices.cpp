#include <weir/assignment/waiting_slices.hpp>
#include <weir/base/assert.hpp>

namespace weir::assignment {

void WaitingSlices::make_room(std::size_t capacity) {
  WEIR_ASSERT(pending_.empty());
  if (capacity > pending_.capacity()) pending_ = PendingList(capacity);
}

void WaitingSlices::put_back(SliceId slice, SliceOrder order) {
  pending_.insert({slice, order});
  stuck_ = false;
}

void WaitingSlices::append_state(std::vector<std::uint64_t>& out) const {
  out.push_back(pending_.size());
  for (std::size_t i = 0; i < pending_.size(); ++i) out.push_back(pending_.at(i).id.value);
  out.push_back(stuck_ ? 0 : 1U);
}

}  // namespace weir::assignment
