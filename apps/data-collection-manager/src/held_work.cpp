#include "held_work.hpp"

#include <weir/base/assert.hpp>

namespace weir::dcm {

std::shared_ptr<const void> HeldWork::hold(Work& work) {
  std::shared_ptr<const void> hold = work.hold.lock();
  if (hold) return hold;
  WEIR_ASSERT(!work.held);  // else its old hold has gone, and it is still to be taken back
  hold = std::shared_ptr<const void>(&work, [returned = returned_](const void* last) {
    returned->push_back(const_cast<Work*>(static_cast<const Work*>(last)));
  });
  if (++held_ > returned_->capacity()) returned_->reserve(2 * held_);
  work.hold = hold;
  work.held = true;
  return hold;
}

Work* HeldWork::take_back() {
  if (returned_->empty()) return nullptr;
  Work* const work = returned_->back();
  returned_->pop_back();
  WEIR_ASSERT(work->held && work->hold.expired());
  work->held = false;
  --held_;
  return work;
}

}  // namespace weir::dcm
