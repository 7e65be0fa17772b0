#include "request_queues.hpp"

#include <weir/base/assert.hpp>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

assembly::Gathering::Part& part_of(BuiltSlice& slice, std::uint32_t readout) {
  return slice.gathering.parts[readout];
}

}  // namespace

void RequestQueues::add(BuiltSlice& slice, std::uint32_t readout) {
  assembly::Gathering::Part& part = part_of(slice, readout);
  if (part.wanted) return;
  part.wanted = true;
  ++size_;
  List& list = lists_[readout];
  const std::uint64_t order = slice.gathering.order;
  BuiltSlice* newer = nullptr;
  if (list.newest != nullptr && list.newest->gathering.order > order) {
    newer = list.oldest;
    for (; newer->gathering.order < order; newer = part_of(*newer, readout).newer) ++steps_;
  }
  BuiltSlice* const older = newer == nullptr ? list.newest : part_of(*newer, readout).older;
  part.newer = newer;
  part.older = older;
  (newer == nullptr ? list.newest : part_of(*newer, readout).older) = &slice;
  (older == nullptr ? list.oldest : part_of(*older, readout).newer) = &slice;
  // The slices behind a new one are new, too, or are visited once more.
  if (list.next == newer) list.next = &slice;
}

void RequestQueues::remove(BuiltSlice& slice, std::uint32_t readout) {
  assembly::Gathering::Part& part = part_of(slice, readout);
  if (!part.wanted) return;
  part.wanted = false;
  WEIR_ASSERT(size_ > 0);
  --size_;
  List& list = lists_[readout];
  if (list.next == &slice) list.next = part.newer;
  (part.newer == nullptr ? list.newest : part_of(*part.newer, readout).older) = part.older;
  (part.older == nullptr ? list.oldest : part_of(*part.older, readout).newer) = part.newer;
  part.older = part.newer = nullptr;
}

void RequestQueues::remove_all_of(std::uint32_t readout) {
  for (; BuiltSlice* slice = lists_[readout].oldest; ++steps_) remove(*slice, readout);
}

}  // namespace weir::dcm
