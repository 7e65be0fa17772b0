// Push running: slices that readouts send on their own.
#include "dcm_node.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <numeric>

namespace weir::dcm {
namespace {

// Of the pool; the rest is for what is asked for.
constexpr std::size_t kPushedNumerator = 7;
constexpr std::size_t kPushedDenominator = 8;

}  // namespace

bool DcmNode::is_pushed_here(const assembly::Assignment& assignment) const {
  return pushing_ && assignment.attempt.value == 0 &&
         pushing_->destinations.of(assignment.slice) == setup_.self.index;
}

// Whether a fragment that may have come on its own is to be received; it opens its slice where that is not
// yet known here.
bool DcmNode::takes_pushed(std::uint32_t readout, const wire::FrameHeader& header) {
  if (header.attempt.value != 0) return true;
  assembly::Slice* slice = assembler_->find(header.slice, header.attempt);
  if (slice == nullptr && !assembler_->is_open(header.slice) && !assembler_->full() && run_begun_ &&
      !ending_ && pushing_->unbound < pushing_->unbound_max && pushing_->window.may_open(header.slice)) {
    assembly::Assignment early;
    early.slice = header.slice;
    if (is_pushed_here(early)) {
      open_pushed(std::move(early), false);
      ++pushing_->opened_early;
      slice = assembler_->find(header.slice, header.attempt);
    }
  }
  if (slice == nullptr || !work_of(*slice).pushed) return true;
  pushing_->window.arrived(readout, header.slice);
  if (slice->first_request_ns == 0) slice->first_request_ns = now_ns_;
  // What is asked for has to go somewhere; what comes on its own can be asked for later.
  const std::size_t most = pool_.bytes_total() / kPushedDenominator * kPushedNumerator;
  const bool asked = slice->gathering != nullptr;
  if (asked || header.status == FragmentStatus::missing || header.offset > 0 ||
      pool_.bytes_used() + header.total <= most) {
    return true;
  }
  ++pushing_->no_memory;
  return false;
}

void DcmNode::open_pushed(assembly::Assignment assignment, bool bound) {
  Work& work = open_slice(std::move(assignment));
  assembly::Slice& slice = *work.slice;
  work.pushed = true;
  work.unbound = !bound;
  if (!bound) ++pushing_->unbound;
  set_due(work);
  const TimeNs ask_ns = work.due_ns + pushing_->timing.slot_ns + pushing_->wait_ns;
  assembler_->expect(slice, ask_ns + pushing_->deadline_ns);
  pushing_->window.opened(slice.id(), ask_ns);
  collector_->expect_pushed(slice, now_ns_);
}

// Counted from the trigger's time; as long as that is not known, from now on.
void DcmNode::set_due(Work& work) {
  const assembly::Assignment& assignment = work.slice->assignment;
  const DurationNs slice_ns = work.unbound ? pushing_->slice_ns : assignment.duration;
  const UtcNs utc_ns = environment_.clock.utc_ns();
  const TimeNs since = work.unbound ? now_ns_ : pushing_->timing.moment(assignment.time, now_ns_, utc_ns);
  work.due_ns = since + pushing_->timing.latest_ns(readouts_.size(), slice_ns);
}

// The assignment of a slice that a fragment has opened. False: there is no such slice.
bool DcmNode::bind(assembly::Assignment& assignment) {
  assembly::Slice* slice = pushing_ ? assembler_->find(assignment.slice, assignment.attempt) : nullptr;
  if (slice == nullptr || !work_of(*slice).unbound) return false;
  Work& work = work_of(*slice);
  slice->assignment = std::move(assignment);
  slice->assigned_ns = now_ns_;
  work.unbound = false;
  --pushing_->unbound;
  set_due(work);
  if (slice->phase == assembly::Phase::filtering) pushing_->bound.push_back(slice);
  return true;
}

// A later attempt of it has come: the first one's assignment was lost, and will not.
void DcmNode::drop_unbound(SliceId slice) {
  assembly::Slice* early = assembler_->find(slice, Attempt(0));
  if (early == nullptr || !work_of(*early).unbound) return;
  ++pushing_->never_assigned;
  release(work_of(*early));
}

void DcmNode::ask_for_overdue() {
  std::vector<std::uint32_t> readouts(readouts_.size());
  while (const auto due = pushing_->window.next_due(now_ns_)) {
    assembly::Slice* slice = assembler_->find(due->slice, Attempt(0));
    WEIR_ASSERT(slice != nullptr);
    if (!due->all) ++pushing_->pushed_out;
    if (work_of(*slice).unbound) {
      if (!due->all) continue;
      ++pushing_->never_assigned;
      release(work_of(*slice));
      continue;
    }
    if (slice->phase != assembly::Phase::collecting) continue;
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
