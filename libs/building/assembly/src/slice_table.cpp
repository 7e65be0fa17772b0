#include <weir/assembly/slice_table.hpp>
#include <weir/base/assert.hpp>

#include <utility>

namespace weir::assembly {
namespace {

using enum BuildState;

// After its decision, for a writer or for another DCM.
bool waits_for_others(const SliceDecision& decision) { return decision.accepted || decision.kept; }

// Asserts the conditions of a state for a slice that reaches it.
void assert_ready_for(const BuiltSlice& slice, BuildState to) {
  switch (to) {
    case collecting:
      WEIR_ASSERT(slice.outstanding > 0);
      return;
    case waiting_for_memory:
      WEIR_ASSERT(slice.OrderHook::is_linked());  // reached from assigned and blocked by open()
      [[fallthrough]];
    case complete:
    case queued:
      // A poison slice has its reason already while its other sources are requested.
      WEIR_ASSERT(slice.outstanding == 0 && (slice.result == nullptr || slice.assignment.unfiltered));
      return;
    case unassigned:
    case suspect:
    case filtering:
      WEIR_ASSERT(slice.outstanding == 0 && slice.result == nullptr);
      return;
    case decided:
      WEIR_ASSERT(slice.outstanding == 0 && slice.filter_state.data == nullptr);
      return;
    case held_back:
      WEIR_ASSERT(slice.decision.accepted);
      return;
    case storing:
      WEIR_ASSERT(slice.shipment.bytes > 0 && slice.shipment.number == 0);
      return;
    case kept:
      WEIR_ASSERT(slice.decision.kept);
      return;
    case stored:
    case given_up:
      WEIR_ASSERT(!slice.is_in_line());
      return;
    case released:
      WEIR_ASSERT(!slice.OrderHook::is_linked());  // reached by close()
      WEIR_ASSERT(slice.outstanding == 0 && slice.result == nullptr && slice.filter_state.data == nullptr);
      WEIR_ASSERT(slice.ahead == 0);
      WEIR_ASSERT(!slice.is_in_line() && !slice.memory.is_shared() && !slice.gathering.has_begun());
      return;
    case spare:
      WEIR_ASSERT(slice.receiving == 0);
      return;
    case assigned:
    case blocked:
    case abandoned:
    case reported:
      return;
  }
}

}  // namespace

bool BuiltSlice::is_incomplete() const {
  if (flawed > 0 || payload_bytes > 0) return flawed > 0;
  Completeness all;
  for (const weir_filter_fragment& entry : table) all.add(entry);
  return all.is_incomplete();
}

SliceTable::~SliceTable() {
  for (List& list : lists_) list.clear();
  order_.clear();
}

BuiltSlice& SliceTable::assign(AssignedSlice assignment) {
  List& spares = list_of(spare);
  if (spares.empty()) {
    all_.push_back(std::make_unique<BuiltSlice>(all_.size()));
    spares.push_back(*all_.back());
  }
  BuiltSlice& slice = spares.back();  // the last one used: its memory is in the cache
  slice.assignment = std::move(assignment);
  slice.first = nullptr;
  slice.step = slice.flawed = 0;
  slice.is_timed = slice.counts = slice.expired_empty = false;
  slice.assigned_ns = slice.first_request_ns = slice.last_fragment_ns = slice.deadline_ns =
      slice.deadline_most_ns = 0;
  slice.payload_bytes = slice.refused_bytes = 0;
  slice.pushed = slice.awaits_assignment = slice.crowded_out = slice.fetched = false;
  slice.due_ns = 0;
  slice.decision = {};
  change(slice, assigned);
  return slice;
}

bool SliceTable::open(BuiltSlice& slice) {
  if (!by_id_.try_emplace(slice.id(), &slice).second) return false;
  order_.push_back(slice);
  change(slice, waiting_for_memory);
  return true;
}

void SliceTable::close(BuiltSlice& slice) {
  const auto entry = by_id_.find(slice.id());
  WEIR_ASSERT(entry != by_id_.end() && entry->second == &slice);
  by_id_.erase(entry);
  order_.erase(order_.iterator_to(slice));
  change(slice, released);
}

void SliceTable::change(BuiltSlice& slice, BuildState to) {
  const BuildState from = slice.state_;
  WEIR_ASSERT(kSliceTransitions.allow(from, to));
  assert_ready_for(slice, to);
  List& old = list_of(from);
  list_of(to).splice(list_of(to).end(), old, old.iterator_to(slice));
  slice.state_ = to;
  if (waits_for_others(slice.decision) && is_reported(from) != is_reported(to)) {
    const std::uint64_t bytes = slice.memory.bytes();
    accepted_bytes_ = is_reported(to) ? accepted_bytes_ + bytes : accepted_bytes_ - bytes;
    if (slice.decision.accepted)
      accepted_count_ = is_reported(to) ? accepted_count_ + 1 : accepted_count_ - 1;
  }
}

BuiltSlice* SliceTable::find(SliceId slice, Attempt attempt) const {
  const auto found = by_id_.find(slice);
  if (found == by_id_.end() || found->second->attempt() != attempt) return nullptr;
  return found->second;
}

BuiltSlice* SliceTable::find(SliceId slice, Attempt attempt, std::uint64_t slot) const {
  if (slot >= all_.size()) return find(slice, attempt);
  BuiltSlice& there = *all_[slot];
  if (there.id() != slice || there.attempt() != attempt || !assembly::is_open(there.state_))
    return find(slice, attempt);
  return &there;
}

BuiltSlice& SliceTable::in_slot(std::uint64_t slot) const {
  WEIR_ASSERT(slot < all_.size());
  return *all_[slot];
}

std::string SliceTable::broken_invariant() const {
  std::uint64_t bytes = 0;
  std::size_t open = 0;
  std::size_t listed = 0;
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < kSliceStates; ++i) {
    for (const BuiltSlice& slice : lists_[i]) {
      ++listed;
      if (slice.state() != static_cast<BuildState>(i)) return "a slice is in the list of another state";
      const bool found = find(slice.id(), slice.attempt()) == &slice;
      if (found != assembly::is_open(slice.state()))
        return "the open slices and the slices known by id differ";
      open += found ? 1 : 0;
      accepted += slice.decision.accepted && is_reported(slice.state()) ? 1 : 0;
      bytes += waits_for_others(slice.decision) && is_reported(slice.state()) ? slice.memory.bytes() : 0;
    }
  }
  if (listed != all_.size()) return "a slice is in no state's list";
  if (open != by_id_.size() || open != order_.size()) return "the open slices and the ordered slices differ";
  if (accepted != accepted_count_) return "the slices that wait for a writer are miscounted";
  if (bytes != accepted_bytes_) return "bytes that wait for a writer do not add up";
  return {};
}

}  // namespace weir::assembly
