#include <weir/assignment/waiting_slices.hpp>
#include <weir/base/assert.hpp>

namespace weir::assignment {

void WaitingSlices::make_room(std::size_t capacity) {
  WEIR_ASSERT(pending_.empty() && suspects_.empty());
  if (capacity <= pending_.capacity()) return;
  pending_ = PendingList(capacity);
  suspects_ = PendingList(capacity);
}

void WaitingSlices::put_back(SliceId slice, bool suspect) {
  list_of(suspect).insert(slice);
  stuck_ = false;
}

void WaitingSlices::clear() {
  pending_.clear();
  suspects_.clear();
}

void WaitingSlices::append_state(std::vector<std::uint64_t>& out) const {
  for (const PendingList* list : {&pending_, &suspects_}) {
    out.push_back(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) out.push_back(list->at(i).value);
  }
  out.push_back(stuck_ ? 0 : 1U);
}

}  // namespace weir::assignment
