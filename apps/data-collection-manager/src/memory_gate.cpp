#include "memory_gate.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/expected_sizes.hpp>

#include <algorithm>
#include <bit>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

constexpr std::size_t kFirstShare = 4;  // share of the pool for the first slice, before its size is known
constexpr DurationNs kLookForOldest = kMillisecond;
constexpr DurationNs kGiveWay = 500 * kMillisecond;

}  // namespace

std::size_t MemoryGate::bytes_expected(const BuiltSlice& slice, const assembly::Selection& selection) const {
  if (slice.step == 0 && selection.all) return 0;  // as all slices: Assembler::slice_bytes_expected()
  std::size_t bytes = 0;
  for (const assembly::SourceIndex source : selection.sources) {
    const auto state = slice.progress[source].state;
    if (state == assembly::FragmentProgress::State::idle ||
        state == assembly::FragmentProgress::State::cancelled)
      bytes += assembly::SliceMemory::placed_bytes(sizes_.of(source).bytes());
  }
  return bytes;
}

std::size_t MemoryGate::bytes_to_reserve(const BuiltSlice& slice) const {
  const std::size_t placed = slice.memory.placed();
  const std::size_t next = placed + slice.gathering.next_bytes;
  return std::max(assembler_.slice_bytes_expected(), next) - placed;
}

bool MemoryGate::reserve_ahead(BuiltSlice& slice, const assembly::Selection& selection) {
  const std::size_t more = bytes_expected(slice, selection);
  if (more <= slice.memory.room()) return true;
  const std::size_t planned = pool_.bytes_used() + BufferPool::block_bytes(more);
  return planned <= config::dcm_buffer_planned(memory_bytes_) && slice.memory.reserve(pool_, more);
}

bool MemoryGate::reserve(BuiltSlice& slice) {
  // If no other slice gives memory back, the slice starts with the memory that is left.
  const bool alone =
      assembler_.collecting() + assembler_.leaving() == 0 && slices_.in(BuildState::released).empty();
  if (!assembler_.knows_sizes()) {
    // The first slice runs alone to learn the sizes, in a large block, of which fragments leave little
    // unused. A pushed one that has not begun to arrive holds nothing, and may wait for this one to be
    // cleared.
    const auto learns = [](const BuiltSlice& other) { return !other.pushed || other.memory.bytes() > 0; };
    if (slices_.find_in(BuildState::collecting, learns) != nullptr) return false;
    return slice.memory.reserve(pool_, std::bit_floor(pool_.bytes_total()) / kFirstShare) || alone;
  }
  const std::size_t more = bytes_to_reserve(slice);
  if (more <= slice.memory.room()) return true;
  const std::size_t planned = pool_.bytes_used() + BufferPool::block_bytes(more);
  if (!alone && planned > config::dcm_buffer_planned(memory_bytes_)) return false;
  if (slice.memory.reserve(pool_, more)) return true;
  if (!alone) return false;
  if (slices_.in(BuildState::complete).empty()) return !make_room_for(slice);
  assembler_.let_overtake();
  return false;
}

// Slices between two steps may hold all memory, each less than it needs, and take it in turn without an end.
// The oldest gets it, from the newest first.
bool MemoryGate::make_room_for(const BuiltSlice& slice) {
  BuiltSlice* newest = nullptr;
  slices_.for_each_in(BuildState::waiting_for_memory, [&](BuiltSlice& other) {
    if (&other == &slice || other.memory.bytes() == 0 || other.pushed || other.awaits_assignment) return;
    if (newest == nullptr || is_older(*newest, other)) newest = &other;
  });
  if (newest == nullptr) return false;
  oldest_first_ = true;
  if (is_older(slice, *newest)) assembler_.crowd_out(*newest);
  return true;
}

BuiltSlice* MemoryGate::next_waiting() {
  return oldest_first_ ? oldest_waiting() : slices_.first_in(BuildState::waiting_for_memory);
}

BuiltSlice* MemoryGate::oldest_waiting() {
  BuiltSlice* oldest = nullptr;
  slices_.for_each_in(BuildState::waiting_for_memory, [&](BuiltSlice& slice) {
    if (oldest == nullptr || is_older(slice, *oldest)) oldest = &slice;
  });
  return oldest;
}

BuiltSlice* MemoryGate::find_oldest(TimeNs moved_ns, TimeNs now_ns) {
  // Slices that leave give their memory back.
  if (assembler_.collecting() == 0 || assembler_.leaving() > 0) return nullptr;
  if (now_ns - oldest_looked_ns_ < kLookForOldest) return nullptr;
  oldest_looked_ns_ = now_ns;
  BuiltSlice* const oldest = oldest_waiting();
  WEIR_ASSERT(oldest != nullptr);
  const auto is_before = [&](const BuiltSlice& slice) { return is_older(slice, *oldest); };
  if (slices_.find_in(BuildState::collecting, is_before) != nullptr) return nullptr;
  // The slice that learns the sizes is alone, and gives way too.
  if (assembler_.knows_sizes() && oldest->memory.reserve(pool_, bytes_to_reserve(*oldest))) return oldest;
  if (now_ns - moved_ns < kGiveWay) return nullptr;
  // Readouts make newer slices when the oldest is cleared, and these have its memory.
  BuiltSlice* newest = nullptr;
  slices_.for_each_in(BuildState::collecting, [&](BuiltSlice& slice) {
    if (newest == nullptr || is_older(*newest, slice)) newest = &slice;
  });
  WEIR_ASSERT(newest != nullptr);
  // Pushed slices may hold nothing, and wait for full readouts; complete ones may have all of the memory.
  if (newest->pushed) {
    assembler_.let_overtake();
  } else {
    assembler_.crowd_out(*newest);
    oldest_first_ = true;
  }
  return nullptr;
}

}  // namespace weir::dcm
