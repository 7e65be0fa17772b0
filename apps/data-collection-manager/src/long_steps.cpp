#include "long_steps.hpp"

namespace weir::dcm {

using assembly::BuiltSlice;

bool LongSteps::find_long(std::span<const filter_host::OldestJob> running, TimeNs now_ns) {
  std::vector<slice_rows::Lease> found;
  for (const filter_host::OldestJob& job : running) {
    const BuiltSlice& slice = slices_.in_slot(job.token);
    if (job.start_ns <= now_ns - limits_.long_ns && slice.state() == assembly::BuildState::filtering)
      found.push_back({slice.id(), slice.attempt()});
  }
  if (found == long_) return false;
  long_ = std::move(found);
  return true;
}

std::optional<SliceId> LongSteps::held(const std::optional<filter_host::OldestJob>& oldest,
                                       TimeNs now_ns) const {
  if (!oldest || now_ns - oldest->start_ns < limits_.deadline_ns) return std::nullopt;
  const BuiltSlice& slice = slices_.in_slot(oldest->token);
  return assembly::is_with_filter(slice.state()) ? std::optional(slice.id()) : std::nullopt;
}

std::optional<SliceId> LongSteps::find_stalled(const filter_host::OldestJob& oldest, TimeNs now_ns) {
  if (!held(oldest, now_ns)) return std::nullopt;
  const BuiltSlice& slice = slices_.in_slot(oldest.token);
  const std::pair named{slice.id(), slice.attempt()};
  if (stalled_ == named) return std::nullopt;
  stalled_ = named;
  ++stalls_;
  return slice.id();
}

}  // namespace weir::dcm
