// Fragments that no step requests from the readouts: ahead of the step that may need them, or from the DCM
// that keeps the slice.
#include "collector.hpp"
#include <weir/base/planted.hpp>

#include <array>
#include <memory>
#include <numeric>
#include <utility>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;
using assembly::Selection;
using assembly::SourceIndex;

void Collector::begin_ahead(BuiltSlice& slice) {
  Gathering& gathering = slice.gathering;
  std::shared_ptr<const Selection> selection = selections_.take_next(slice);
  if (slice.pushed || selection == nullptr || !memory_gate_.reserve_ahead(slice, *selection)) return;
  const AbsentReadouts::Set& absent = absent_.find(slice.assignment.order);
  const auto serves_now = [&](std::uint32_t readout) {
    return is_up(readout) && !lost_.is_given_up(readout) && !absent.contains(readout);
  };
  ahead_sources_.clear();
  for (const SourceIndex source : selection->sources) {
    if (serves_now(assembler_.sources()[source].readout)) ahead_sources_.push_back(source);
  }
  if (assembler_.want_ahead(slice, ahead_sources_) == 0) return;
  if (gathering.has_begun()) schedule_.remove(slice);
  gathering.begin(readouts_, std::move(selection), slice.id().value);
  gathering.ahead = true;
  for (std::uint32_t readout = 0; readout < readouts_; ++readout) {
    ++steps_;
    Gathering::Part& part = gathering.parts[readout];
    part.next = part.offset = 0;
    part.again = true;
    if (!gathering.selection->by_readout[readout].empty() && serves_now(readout))
      schedule_.add(slice, readout);
  }
  ahead_begun_ = true;
}

void Collector::cancel_ahead(BuiltSlice& slice) {
  if (slice.gathering.ahead) schedule_.remove(slice);
  if (slice.ahead > 0) assembler_.cancel_unsent(slice);
  const wire::CopyId entry{slice.id(), slice.attempt(), {}};
  for (std::uint32_t readout = 0; readout < readouts_ && slice.ahead > 0; ++readout) {
    if (is_up(readout) && slice.gathering.parts[readout].owed_fragments > 0)
      frames_.cancel(readout, std::array{entry});
  }
  assembler_.end_ahead(slice);
}

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
  mark_absent(slice, now_ns);
  lose_given_up(slice, now_ns);
  std::vector<std::uint32_t> readouts(readouts_);
  std::iota(readouts.begin(), readouts.end(), 0U);
  ask_for_rest(slice, readouts);
}

}  // namespace weir::dcm
