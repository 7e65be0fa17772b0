// Suspects of a DCM's death, and what stays in the filter for long: what the supervisor has to know of the
// filter.
#include "dcm_node.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {

void DcmNode::isolate() {
  while (true) {
    const Isolation::Step step = isolation_.step(now_ns_, units_->in_flight());
    if (step.tell) tell_filtering();
    if (!step.job) return;
    reinterpret_cast<Work*>(step.job->token)->waits_alone = false;
    jobs_.insert(jobs_.begin(), *step.job);
    hand_over(1);
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
    const assembly::Slice& suspect = *reinterpret_cast<const Work*>(isolation_.suspect()->token)->slice;
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
    const Work& work = *reinterpret_cast<const Work*>(job.token);
    if (job.start_ns <= before && !work.abandoned)
      found.emplace_back(work.slice->id(), work.slice->attempt());
  }
  if (found == long_in_filter_) return;
  long_in_filter_ = std::move(found);
  tell_filtering();
}

}  // namespace weir::dcm
