#include "decisions.hpp"

#include "record.hpp"
#include "slice_times.hpp"
#include <weir/base/assert.hpp>
#include <weir/filter_job/job.hpp>
#include <weir/node/columns.hpp>

#include <algorithm>
#include <string>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;

void Decisions::decide(BuiltSlice& slice, const SliceDecision& decision, TimeNs now_ns) {
  destroy_filter_state(slice);
  builder_.collector.end_ahead(slice);
  slice.decision = decision;
  // Its record, or the DCM of the next group, gets everything.
  if (decision.by != DecisionKind::filter || decision.forwarded) builder_.assembler.show_unnamed(slice);
  if (decision.accepted && !fits_a_record(slice)) slice.decision = SliceDecision::fail("too_large");
  WEIR_ASSERT(slice.decision.failure.empty() || !slice.decision.accepted);
  if (slice.state() == BuildState::waiting_for_memory || slice.state() == BuildState::collecting) {
    builder_.assembler.withdraw(slice);
  } else {
    builder_.slices.change(slice, BuildState::decided);
  }
  latency_.record(microseconds(now_ns - slice.assigned_ns));
}

bool Decisions::wait() const {
  return !builder_.slices.in(BuildState::decided).empty() ||
         !builder_.slices.in(BuildState::held_back).empty();
}

bool Decisions::needs_room() const {
  if (builder_.slices.accepted_bytes() <= accepted_most()) return false;
  const auto is_accepted = [](const BuiltSlice& slice) { return slice.decision.accepted; };
  return !builder_.slices.in(BuildState::held_back).empty() ||
         builder_.slices.find_in(BuildState::decided, is_accepted) != nullptr;
}

// Only what another DCM could build no better: all fragments, whole.
bool Decisions::can_keep(const BuiltSlice& slice) const {
  const std::uint32_t group = slice.result->forward_group;
  if (group >= keeps_for_.size() || !keeps_for_[group] || slice.is_incomplete()) return false;
  if (builder_.slices.accepted_bytes() + slice.memory.bytes() > accepted_most()) return false;
  if (builder_.slices.in(BuildState::kept).size() >= kept_max_) return false;
  return std::all_of(slice.progress.begin(), slice.progress.end(), [](const auto& progress) {
    return progress.state == assembly::FragmentProgress::State::done;
  });
}

void Decisions::report(v1::Decide& batch) {
  const auto one = [&](BuiltSlice& slice) { report_one(slice, batch); };
  builder_.slices.for_each_in(BuildState::held_back, one);
  builder_.slices.for_each_in(BuildState::decided, one);
}

void Decisions::report_one(BuiltSlice& slice, v1::Decide& batch) {
  const bool accepted = slice.decision.accepted;
  const bool flawed = slice.is_incomplete();
  v1::Verdict verdict = flawed ? v1::VERDICT_REJECT_INCOMPLETE : v1::VERDICT_REJECT;
  if (accepted) verdict = flawed ? v1::VERDICT_ACCEPT_INCOMPLETE : v1::VERDICT_ACCEPT;
  if (accepted && builder_.slices.accepted_bytes() > accepted_most()) {
    if (slice.state() == BuildState::held_back) return;
    // Its lease would run out, and it is over with the filter.
    verdict = v1::VERDICT_HELD;
  }
  if (!slice.decision.failure.empty()) {
    add_failure(batch, slice.id(), slice.attempt(), slice.decision.failure);
  } else if (slice.decision.forwarded) {
    slice.decision.kept = !keeps_for_.empty() && can_keep(slice);
    add_forward(batch, slice);
  } else {
    batch.add_slice(slice.id().value);
    batch.add_attempt(slice.attempt().value);
    node::add(*batch.mutable_verdict(), verdict);
  }
  if (verdict == v1::VERDICT_HELD) return builder_.slices.change(slice, BuildState::held_back);
  accepted_ += accepted ? 1 : 0;
  builder_.slices.change(slice, BuildState::reported);
}

void Decisions::add_failure(v1::Decide& batch, SliceId slice, Attempt attempt, std::string_view why) {
  v1::Decide::Failure& failure = *batch.add_failures();
  failure.set_index(static_cast<std::uint32_t>(batch.slice_size()));
  failure.set_reason(std::string(why));
  batch.add_slice(slice.value);
  batch.add_attempt(attempt.value);
  node::add(*batch.mutable_verdict(), v1::VERDICT_FAILED);
}

void Decisions::add_forward(v1::Decide& batch, const BuiltSlice& slice) {
  const filter_job::FilterResult& result = *slice.result;
  v1::Decide::Forward& forward = *batch.add_forwards();
  forward.set_index(static_cast<std::uint32_t>(batch.slice_size()));
  forward.set_group(result.forward_group);
  forward.set_kept(slice.decision.kept);
  forward.set_bytes(result.filter_result.data(), result.filter_result.size());
  batch.add_slice(slice.id().value);
  batch.add_attempt(slice.attempt().value);
  node::add(*batch.mutable_verdict(), v1::VERDICT_FORWARD);
}

void destroy_filter_state(BuiltSlice& slice) {
  weir_filter_state& state = slice.filter_state;
  if (state.data != nullptr && state.destroy != nullptr) state.destroy(state.data);
  state = {};
}

}  // namespace weir::dcm
