// Slices that come whole from another DCM, and those that do not.
#include "collector.hpp"
#include <weir/base/planted.hpp>

#include <numeric>
#include <utility>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;

void Collector::start_fetch(BuiltSlice& slice) {
  slice.gathering.next.reset();
  assembler_.want_all(slice);
  if (slice.state() != BuildState::collecting) return;
  // Whatever piece of a fragment has arrived, the rest is on its way.
  for (FragmentProgress& progress : slice.progress) progress.asked = UINT32_MAX;
  to_fetch_.emplace_back(slice.id(), slice.attempt());
}

void Collector::build_from_readouts(BuiltSlice& slice, TimeNs now_ns) {
  slice.fetched = false;
  lost_.note_work();
  if (slice.state() != BuildState::collecting) return;
  if (planted(Planted::count_fetched_twice)) {
    for (FragmentProgress& progress : slice.progress) {
      if (progress.state != FragmentProgress::State::done) continue;
      progress.start_again();
      progress.state = FragmentProgress::State::requested;
      ++slice.outstanding;
    }
  }
  if (find_absent(slice.assignment.order)) mark_absent(slice, now_ns);
  lose_given_up(slice, now_ns);
  std::vector<std::uint32_t> readouts(settings_.readouts);
  std::iota(readouts.begin(), readouts.end(), 0U);
  ask_for_rest(slice, readouts);
}

}  // namespace weir::dcm
