#include "push_admission.hpp"

#include <weir/base/assert.hpp>
#include <weir/ports/utc_at.hpp>
#include <weir/reports/numbers.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

// Share of the pool for pushed data; the rest is for requested data.
constexpr std::size_t kPushedNumerator = 7;
constexpr std::size_t kPushedDenominator = 8;

}  // namespace

PushAdmission::PushAdmission(const PushAdmissionSettings& settings, const ports::Clock& clock,
                             Builder& builder, SliceRouter& router)
    : self_(settings.self),
      readouts_(settings.readouts),
      clock_(clock),
      builder_(builder),
      router_(router),
      timing_(settings.timing),
      slice_ns_(settings.slice_ns),
      wait_ns_(settings.wait_ns),
      deadline_ns_(settings.deadline_ns),
      unbound_max_(settings.unbound_max),
      gives_up_(settings.gives_up),
      window_(settings.active_slices, settings.readouts) {}

bool PushAdmission::takes(std::uint32_t readout, const wire::FrameHeader& header, bool may_open,
                          TimeNs now_ns) {
  if (header.attempt.value != 0) return true;
  BuiltSlice* slice = builder_.slices.find(header.slice, header.attempt);
  if (slice == nullptr && !builder_.slices.is_open(header.slice) && !builder_.assembler.full() && may_open &&
      unbound_ < unbound_max_ && window_.may_open(header.slice)) {
    slice = &open_early(header.slice, now_ns);
  }
  if (slice == nullptr || !slice->pushed) return true;
  window_.arrived(readout, header.slice);
  if (slice->first_request_ns == 0) slice->first_request_ns = now_ns;
  if (gives_up_) return true;  // without memory it is missing
  // Requested data needs a place; unrequested data can be requested later.
  const std::size_t most = builder_.pool.bytes_total() / kPushedDenominator * kPushedNumerator;
  const bool asked = slice->gathering.has_begun();
  if (asked || header.status == FragmentStatus::missing || header.offset > 0 ||
      builder_.pool.bytes_used() + header.total <= most) {
    return true;
  }
  ++no_memory_;
  return false;
}

BuiltSlice& PushAdmission::open_early(SliceId id, TimeNs now_ns) {
  assembly::AssignedSlice early;
  early.slice = id;
  early.order = assembly::kOrderUnknown;
  BuiltSlice& slice = builder_.slices.assign(std::move(early));
  const auto opened = builder_.assembler.open(slice, now_ns);
  WEIR_ASSERT(opened.has_value());
  open(slice, false, now_ns);
  ++opened_early_;
  return slice;
}

void PushAdmission::open(BuiltSlice& slice, bool bound, TimeNs now_ns) {
  slice.pushed = true;
  slice.awaits_assignment = !bound;
  if (!bound) ++unbound_;
  WEIR_ASSERT(unbound_ <= unbound_max_);
  set_due(slice, now_ns);
  const TimeNs ask_ns = slice.due_ns + timing_.slot_ns + wait_ns_;
  builder_.assembler.expect(slice, gives_up_ ? ask_ns : ask_ns + deadline_ns_);
  // Its assignment came after a newer slice had gone to the filter: it goes at once, outside of the order.
  const bool is_late = gives_up_ && !window_.may_open(slice.id());
  if (!is_late) window_.opened(slice.id(), ask_ns, !bound || !gives_up_);
  builder_.collector.expect_pushed(slice, now_ns);
  if (is_late) give_up_rest(slice, now_ns);
}

// Counted from the trigger's time, or from now while that is unknown.
void PushAdmission::set_due(BuiltSlice& slice, TimeNs now_ns) const {
  const bool unbound = slice.awaits_assignment;
  const DurationNs slice_ns = unbound ? slice_ns_ : slice.assignment.duration;
  const TimeNs since =
      unbound ? now_ns : timing_.moment(slice.assignment.time, now_ns, ports::utc_at(clock_, now_ns));
  slice.due_ns = since + timing_.latest_ns(readouts_, slice_ns);
}

BuiltSlice* PushAdmission::bind(BuiltSlice& assigned, TimeNs now_ns) {
  BuiltSlice* slice = builder_.slices.find(assigned.id(), assigned.attempt());
  if (slice == nullptr || !slice->awaits_assignment) return nullptr;
  slice->assignment = std::move(assigned.assignment);
  slice->first = std::move(assigned.first);
  builder_.slices.change(assigned, BuildState::spare);
  slice->assigned_ns = now_ns;
  slice->awaits_assignment = false;
  WEIR_ASSERT(unbound_ > 0);
  --unbound_;
  set_due(*slice, now_ns);
  builder_.collector.assignment_came(*slice, now_ns);
  if (slice->state() != BuildState::unassigned) return slice;
  // Assigned after a newer slice had gone to the filter: outside of the order.
  if (newest_filtered_ && *newest_filtered_ > slice->id()) window_.left(slice->id());
  builder_.assembler.complete_again(*slice);
  return slice;
}

void PushAdmission::drop_unbound(SliceId slice) {
  BuiltSlice* early = builder_.slices.find(slice, Attempt(0));
  if (early == nullptr || !early->awaits_assignment) return;
  ++never_assigned_;
  router_.release(*early);
}

void PushAdmission::end_waiting(TimeNs now_ns) {
  while (const auto due = window_.next_due(now_ns)) end_waiting_for(*due, now_ns);
}

void PushAdmission::end_waiting_for(const assembly::PushWindow::Due& due, TimeNs now_ns) {
  BuiltSlice* slice = builder_.slices.find(due.slice, Attempt(0));
  WEIR_ASSERT(slice != nullptr);
  if (!due.all) ++pushed_out_;
  if (slice->awaits_assignment && due.all) {
    ++never_assigned_;
    return router_.release(*slice);
  }
  if (gives_up_) {
    if (!due.all) give_up_rest(*slice, now_ns);  // otherwise its deadline has passed
    return;
  }
  if (!slice->awaits_assignment && slice->state() == BuildState::collecting) ask_for_rest(*slice, due.all);
}

void PushAdmission::ask_for_rest(BuiltSlice& slice, bool all) {
  asked_.resize(readouts_);
  std::iota(asked_.begin(), asked_.end(), 0U);
  if (all) {
    ++asked_for_;
  } else {
    std::erase_if(asked_, [&](std::uint32_t readout) { return !window_.passed_by(readout, slice.id()); });
  }
  builder_.collector.ask_for_rest(slice, asked_);
}

void PushAdmission::give_up_rest(BuiltSlice& slice, TimeNs now_ns) {
  if (slice.state() != BuildState::collecting) return;
  ++given_up_;
  builder_.assembler.give_up(slice, MissingReason::overflow, now_ns);
}

void PushAdmission::complete(const BuiltSlice& slice) {
  // Late slices, later steps, and steps that are repeated after a worker's death have no order.
  if (!window_.left(slice.id())) return;
  in_order_ = in_order_ && (!newest_filtered_ || slice.id() > *newest_filtered_);
  newest_filtered_ = std::max(slice.id(), newest_filtered_.value_or(slice.id()));
}

void PushAdmission::leaves(const BuiltSlice& slice) {
  window_.left(slice.id());
  if (!slice.awaits_assignment) return;
  WEIR_ASSERT(unbound_ > 0);
  --unbound_;
}

void PushAdmission::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["push.opened_early"] = opened_early_;
  counters["push.never_assigned"] = never_assigned_;
  counters["push.pushed_out"] = pushed_out_;
  counters["push.asked_for"] = asked_for_;
  counters["push.given_up"] = given_up_;
  counters["push.no_memory"] = no_memory_;
}

}  // namespace weir::dcm
