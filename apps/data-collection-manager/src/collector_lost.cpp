// Slices without the readouts that are absent, or that cannot be reached.
#include "collector.hpp"
#include <weir/base/planted.hpp>

#include <algorithm>
#include <array>

namespace weir::dcm {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;
using assembly::SourceIndex;

void Collector::readout_up(std::uint32_t readout, bool moved) {
  schedule_.connected(readout);
  lost_.connected(readout);
  if (planted(Planted::forget_request) || (moved && planted(Planted::forget_moved))) return;
  // Repeats the requests of the lost connection. Each slice goes to the front of the readout's list, so the
  // newest is added first.
  slices_.for_each_open_newest_first([&](BuiltSlice& slice) {
    ++steps_;
    Gathering& gathering = slice.gathering;
    if (!gathering.has_begun() || slice.state() != BuildState::collecting) return;
    if (gathering.selection->by_readout[readout].empty()) return;
    for (const SourceIndex source : assembler_.sources_of(readout)) {
      ++steps_;
      FragmentProgress& progress = slice.progress[source];
      if (progress.state == FragmentProgress::State::requested) progress.start_again();
    }
    Gathering::Part& part = gathering.parts[readout];
    while (part.first_range != Gathering::kNone) gathering.drop_first_range(readout);
    part.next = part.offset = 0;
    part.again = true;
    schedule_.add(slice, readout);
  });
}

void Collector::readout_down(std::uint32_t readout) {
  schedule_.disconnected(readout);
  accounts_.disconnected(readout);
  frames_.discard(readout);
  slices_.for_each_open([&](BuiltSlice& slice) {
    ++steps_;
    if (!slice.gathering.has_begun()) return;
    if (slice.ahead > 0) assembler_.cancel_ahead_of(slice, std::array{readout});
    slice.gathering.parts[readout].owed_fragments = 0;
    slice.gathering.parts[readout].owed_bytes = 0;
  });
  shaper_->readout_lost(readout);
}

void Collector::mark_absent(BuiltSlice& slice, TimeNs now_ns) {
  const AbsentReadouts::Set& absent = absent_.find(slice.assignment.order);
  if (!absent.empty()) assembler_.readouts_lost(slice, absent.readouts, MissingReason::removed, now_ns);
}

void Collector::set_absences(slice_rows::AbsenceTable absences, TimeNs now_ns) {
  for (const std::uint32_t readout : absent_.replace(std::move(absences))) {
    // It is back at the supervisor, and will be here.
    if (!is_up(readout)) lost_.forget_verdict(readout);
  }
  // Marking may complete a slice: that changes its state, not the order of the open slices.
  std::vector<BuiltSlice*> open;
  slices_.for_each_open([&](BuiltSlice& slice) { open.push_back(&slice); });
  for (BuiltSlice* slice : open) mark_absent(*slice, now_ns);
}

TimeNs Collector::deadlines_until(TimeNs now_ns) {
  TimeNs heard_ns = now_ns;
  for (std::uint32_t readout = 0; readout < readouts_; ++readout) {
    if (!lost_.is_given_up(readout) && serves(readout)) heard_ns = std::min(heard_ns, heard_[readout]);
  }
  const OutageClock::Due due = outage_.due(heard_ns, now_ns);
  if (due.begin_anew) assembler_.put_off_deadlines(now_ns);
  return due.until;
}

void Collector::give_up_readouts(TimeNs now_ns) {
  std::vector<std::uint32_t> given_up;
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (!lost_.is_to_be_given_up(readout) || !serves(readout)) continue;
    lost_.give_up(readout);
    schedule_.remove_all_of(readout);  // its connection may be up, and silent
    given_up.push_back(readout);
  }
  assembler_.readouts_lost(given_up, MissingReason::source_down, now_ns);
}

// Fragments of given-up readouts become missing without a request.
void Collector::lose_given_up(BuiltSlice& slice, TimeNs now_ns) {
  if (!lost_.any_given_up()) return;
  std::vector<std::uint32_t> given_up;
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (lost_.is_given_up(readout)) given_up.push_back(readout);
  }
  assembler_.readouts_lost(slice, given_up, MissingReason::source_down, now_ns);
}

bool Collector::any_readout_lost() const {
  return std::any_of(lost_.all().begin(), lost_.all().end(),
                     [this](std::uint32_t readout) { return serves(readout); });
}

bool Collector::waits_for_lost(const BuiltSlice& slice) {
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (!lost_.is_waited_for(readout)) continue;
    for (const SourceIndex source : assembler_.sources_of(readout)) {
      ++steps_;
      const auto state = slice.progress[source].state;
      if (state == FragmentProgress::State::requested || state == FragmentProgress::State::receiving)
        return true;
    }
  }
  return false;
}

bool Collector::wants_lost(const BuiltSlice& slice) {
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (lost_.is_given_up(readout) || slice.gathering.next->by_readout[readout].empty()) continue;
    if (!absent_.is_absent(readout, slice.assignment.order)) return true;
  }
  return false;
}

std::vector<BuiltSlice*> Collector::take_stranded() {
  std::vector<BuiltSlice*> stranded;
  if (!lost_.take_look()) return stranded;
  slices_.for_each_open([&](BuiltSlice& slice) {
    if (slice.state() == BuildState::collecting && !slice.fetched && waits_for_lost(slice))
      stranded.push_back(&slice);
  });
  slices_.for_each_in(BuildState::waiting_for_memory, [&](BuiltSlice& slice) {
    if (!slice.fetched && wants_lost(slice)) stranded.push_back(&slice);
  });
  return stranded;
}

}  // namespace weir::dcm
