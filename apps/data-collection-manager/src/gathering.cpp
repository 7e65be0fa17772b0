#include "gathering.hpp"

namespace weir::dcm {

void Gathering::clear_ranges() {
  ranges.clear();
  ranges_left = 0;
  for (Part& part : parts) {
    part.first_range = part.last_range = kNone;
    part.range_bytes = 0;
  }
}

void Gathering::add_range(std::uint32_t readout, const assembly::RangeWanted& wanted) {
  Part& part = parts[readout];
  const auto index = static_cast<std::uint32_t>(ranges.size());
  ranges.push_back({wanted, kNone});
  ++ranges_left;
  (part.first_range == kNone ? part.first_range : ranges[part.last_range].next) = index;
  part.last_range = index;
  part.range_bytes += wanted.length;
}

void Gathering::drop_first_range(std::uint32_t readout) {
  Part& part = parts[readout];
  const Range& range = ranges[part.first_range];
  part.range_bytes -= range.wanted.length;
  part.first_range = range.next;
  if (part.first_range == kNone) part.last_range = kNone;
  if (--ranges_left == 0) ranges.clear();
}

void Wants::add(Gathering& gathering, std::uint32_t readout) {
  Gathering::Part& part = gathering.parts[readout];
  if (part.wanted) return;
  part.wanted = true;
  ++size_;
  List& list = lists_[readout];
  Gathering* newer = nullptr;
  if (list.newest != nullptr && list.newest->order > gathering.order) {
    newer = list.oldest;
    while (newer->order < gathering.order) newer = newer->parts[readout].newer;
  }
  Gathering* const older = newer == nullptr ? list.newest : newer->parts[readout].older;
  part.newer = newer;
  part.older = older;
  (newer == nullptr ? list.newest : newer->parts[readout].older) = &gathering;
  (older == nullptr ? list.oldest : older->parts[readout].newer) = &gathering;
  // What follows a new one is new, too, or it is looked at once more.
  if (list.next == newer) list.next = &gathering;
}

void Wants::remove(Gathering& gathering, std::uint32_t readout) {
  Gathering::Part& part = gathering.parts[readout];
  if (!part.wanted) return;
  part.wanted = false;
  --size_;
  List& list = lists_[readout];
  if (list.next == &gathering) list.next = part.newer;
  (part.newer == nullptr ? list.newest : part.newer->parts[readout].older) = part.older;
  (part.older == nullptr ? list.oldest : part.older->parts[readout].newer) = part.newer;
  part.older = part.newer = nullptr;
}

void Wants::remove_all_of(std::uint32_t readout) {
  while (Gathering* gathering = lists_[readout].oldest) remove(*gathering, readout);
}

}  // namespace weir::dcm
