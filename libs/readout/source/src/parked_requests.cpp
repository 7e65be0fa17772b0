#include <weir/source/parked_requests.hpp>

namespace weir::source {

bool ParkedRequests::park(List& list, const RequestedFragment& request) {
  if (size_ == capacity_) return false;
  std::uint32_t at = free_;
  if (at == kNone) {
    at = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[at].next;
  }
  nodes_[at] = {request, kNone};
  (list.empty() ? list.head : nodes_[list.tail].next) = at;
  list.tail = at;
  ++size_;
  return true;
}

}  // namespace weir::source
