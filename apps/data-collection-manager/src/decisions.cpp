#include "decisions.hpp"

#include "record.hpp"
#include "slice_times.hpp"
#include <weir/base/assert.hpp>
#include <weir/filter_job/job.hpp>

#include <algorithm>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;
using slice_rows::AttemptDecision;
using slice_rows::Verdict;

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

void Decisions::report(std::vector<AttemptDecision>& batch) {
  const auto one = [&](BuiltSlice& slice) { report_one(slice, batch); };
  builder_.slices.for_each_in(BuildState::held_back, one);
  builder_.slices.for_each_in(BuildState::decided, one);
}

void Decisions::report_one(BuiltSlice& slice, std::vector<AttemptDecision>& batch) {
  const bool accepted = slice.decision.accepted;
  AttemptDecision row{slice.id(), slice.attempt()};
  if (accepted) row.verdict = Verdict::accept;
  if (accepted && builder_.slices.accepted_bytes() > accepted_most()) {
    if (slice.state() == BuildState::held_back) return;
    // Its lease would run out, and it is over with the filter.
    row.verdict = Verdict::held;
  }
  if (!slice.decision.failure.empty()) {
    row.verdict = Verdict::failed;
    row.reason = slice_rows::discard_reason(slice.decision.failure);
  } else if (slice.decision.forwarded) {
    WEIR_ASSERT(slice.result != nullptr);
    const filter_job::FilterResult& result = *slice.result;
    slice.decision.kept = !keeps_for_.empty() && can_keep(slice);
    row.verdict = Verdict::forward;
    row.group = GroupIndex(static_cast<std::uint8_t>(result.forward_group));
    row.bytes = result.filter_result;
    row.kept = slice.decision.kept;
  }
  row.incomplete = slice.is_incomplete();
  batch.push_back(row);
  if (row.verdict == Verdict::held) return builder_.slices.change(slice, BuildState::held_back);
  accepted_ += accepted ? 1 : 0;
  builder_.slices.change(slice, BuildState::reported);
}

AttemptDecision failed(SliceId slice, Attempt attempt, slice_rows::DiscardReason reason) {
  return {slice, attempt, Verdict::failed, reason};
}

void destroy_filter_state(BuiltSlice& slice) {
  weir_filter_state& state = slice.filter_state;
  if (state.data != nullptr && state.destroy != nullptr) state.destroy(state.data);
  state = {};
}

}  // namespace weir::dcm
