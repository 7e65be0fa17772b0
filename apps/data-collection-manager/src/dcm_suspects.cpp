// Suspects of a DCM's death, and what stays in the filter for long: what the supervisor has to know of the
// filter.
#include "dcm_node.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {

void DcmNode::isolate() {
  while (true) {
    const Isolation::Step step =
        isolation_.step(now_ns_, units_->in_flight(), slices_.first_in(assembly::SliceState::suspect));
    if (step.tell) tell_filtering();
    if (!step.job) return;
    slices_.change(*step.job, assembly::SliceState::queued);
    const filter_host::Job job[] = {job_of(*step.job)};
    if (units_->submit(job) == 0) continue;  // goes with the others
    slices_.change(*step.job, assembly::SliceState::filtering);
    ++counts_.steps;
  }
}

void DcmNode::tell_filtering() {
  v1::Control message;
  v1::Filtering& filtering = *message.mutable_filtering();
  filtering.set_serial(isolation_.next_serial());
  for (const auto& [slice, attempt] : long_in_filter_) {
    filtering.add_slice(slice.value);
    filtering.add_attempt(attempt.value);
  }
  if (isolation_.alone()) {
    const assembly::BuiltSlice& suspect = *isolation_.suspect();
    filtering.set_alone(suspect.id().value);
    filtering.set_alone_attempt(suspect.attempt().value);
  }
  if (supervisor_.ready()) supervisor_.send(message);
}

// A lease that runs out is held against what has been with the filter for half of it, and against nothing
// else.
void DcmNode::tell_long_in_filter() {
  running_.clear();
  units_->running(running_);
  std::vector<std::pair<SliceId, Attempt>> found;
  const TimeNs before = environment_.clock.now_ns() - setup_.farm.supervisor().lease_ms() * kMillisecond / 2;
  for (const filter_host::OldestJob& job : running_) {
    // What is not `filtering` any more is here by now, and the unit about to take its next job.
    const assembly::BuiltSlice& slice = slices_.in_slot(job.token);
    if (job.start_ns <= before && slice.state() == assembly::SliceState::filtering)
      found.emplace_back(slice.id(), slice.attempt());
  }
  if (found == long_in_filter_) return;
  long_in_filter_ = std::move(found);
  tell_filtering();
}

}  // namespace weir::dcm
