// Push running: slices that readouts send on their own.
#include "dcm_node.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <numeric>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;
using assembly::SliceState;

// Of the pool; the rest is for what is asked for.
constexpr std::size_t kPushedNumerator = 7;
constexpr std::size_t kPushedDenominator = 8;

}  // namespace

bool DcmNode::is_pushed_here(SliceId slice, Attempt attempt) const {
  return pushing_ && attempt.value == 0 && pushing_->destinations.of(slice) == setup_.self.index;
}

// Whether a fragment that may have come on its own is to be received; it opens its slice where that is not
// yet known here.
bool DcmNode::takes_pushed(std::uint32_t readout, const wire::FrameHeader& header) {
  if (header.attempt.value != 0) return true;
  BuiltSlice* slice = slices_.find(header.slice, header.attempt);
  if (slice == nullptr && !slices_.is_open(header.slice) && !assembler_->full() && run_begun_ && !ending_ &&
      pushing_->unbound < pushing_->unbound_max && pushing_->window.may_open(header.slice) &&
      is_pushed_here(header.slice, header.attempt)) {
    assembly::Assignment early;
    early.slice = header.slice;
    slice = &slices_.assign(std::move(early));
    const auto opened = assembler_->open(*slice, now_ns_);
    WEIR_ASSERT(opened.has_value());
    open_pushed(*slice, false);
    ++pushing_->opened_early;
  }
  if (slice == nullptr || !slice->pushed) return true;
  pushing_->window.arrived(readout, header.slice);
  if (slice->first_request_ns == 0) slice->first_request_ns = now_ns_;
  // What is asked for has to go somewhere; what comes on its own can be asked for later.
  const std::size_t most = pool_.bytes_total() / kPushedDenominator * kPushedNumerator;
  const bool asked = slice->gathering.has_begun();
  if (asked || header.status == FragmentStatus::missing || header.offset > 0 ||
      pool_.bytes_used() + header.total <= most) {
    return true;
  }
  ++pushing_->no_memory;
  return false;
}

void DcmNode::open_pushed(BuiltSlice& slice, bool bound) {
  slice.pushed = true;
  slice.awaits_assignment = !bound;
  if (!bound) ++pushing_->unbound;
  set_due(slice);
  const TimeNs ask_ns = slice.due_ns + pushing_->timing.slot_ns + pushing_->wait_ns;
  assembler_->expect(slice, ask_ns + pushing_->deadline_ns);
  pushing_->window.opened(slice.id(), ask_ns);
  collector_->expect_pushed(slice, now_ns_);
}

// Counted from the trigger's time; as long as that is not known, from now on.
void DcmNode::set_due(BuiltSlice& slice) {
  const bool unbound = slice.awaits_assignment;
  const DurationNs slice_ns = unbound ? pushing_->slice_ns : slice.assignment.duration;
  const UtcNs utc_ns = environment_.clock.utc_ns();
  const TimeNs since = unbound ? now_ns_ : pushing_->timing.moment(slice.assignment.time, now_ns_, utc_ns);
  slice.due_ns = since + pushing_->timing.latest_ns(readouts_.size(), slice_ns);
}

// The assignment of a slice that a fragment has opened. False: there is no such slice.
bool DcmNode::bind(BuiltSlice& assigned) {
  BuiltSlice* slice = pushing_ ? slices_.find(assigned.id(), assigned.attempt()) : nullptr;
  if (slice == nullptr || !slice->awaits_assignment) return false;
  slice->assignment = std::move(assigned.assignment);
  slices_.change(assigned, SliceState::spare);
  slice->assigned_ns = now_ns_;
  slice->awaits_assignment = false;
  --pushing_->unbound;
  set_due(*slice);
  if (slice->state() != SliceState::unassigned) return true;
  slices_.change(*slice, SliceState::queued);
  enter_filter(*slice);
  return true;
}

// A later attempt of it has come: the first one's assignment was lost, and will not.
void DcmNode::drop_unbound(SliceId slice) {
  BuiltSlice* early = slices_.find(slice, Attempt(0));
  if (early == nullptr || !early->awaits_assignment) return;
  ++pushing_->never_assigned;
  release(*early);
}

void DcmNode::ask_for_overdue() {
  std::vector<std::uint32_t> readouts(readouts_.size());
  while (const auto due = pushing_->window.next_due(now_ns_)) {
    BuiltSlice* slice = slices_.find(due->slice, Attempt(0));
    WEIR_ASSERT(slice != nullptr);
    if (!due->all) ++pushing_->pushed_out;
    if (slice->awaits_assignment) {
      if (!due->all) continue;
      ++pushing_->never_assigned;
      release(*slice);
      continue;
    }
    if (slice->state() != SliceState::collecting) continue;
    readouts.resize(readouts_.size());
    std::iota(readouts.begin(), readouts.end(), 0U);
    if (due->all) {
      ++pushing_->asked_for;
    } else {
      std::erase_if(readouts,
                    [&](std::uint32_t readout) { return !pushing_->window.passed_by(readout, due->slice); });
    }
    collector_->ask_for_rest(*slice, readouts);
  }
}

}  // namespace weir::dcm
