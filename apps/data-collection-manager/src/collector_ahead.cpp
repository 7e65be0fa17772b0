// Requests ahead of the step that may need them.
#include "collector.hpp"
#include <weir/config/expected_sizes.hpp>

#include <algorithm>
#include <utility>

namespace weir::dcm {

using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;
using assembly::Selection;
using assembly::SourceIndex;

void Collector::prefetch_after_steps(std::vector<std::vector<SourceId>> sources) {
  after_steps_.clear();
  for (const std::vector<SourceId>& after : sources) after_steps_.push_back(select(after));
}

// A prefetch never takes memory that slices wait for: it uses only the planned part.
bool Collector::has_room_ahead(BuiltSlice& slice, const Selection& selection) {
  const std::size_t more = bytes_expected(slice, selection);
  if (more <= slice.memory.room()) return true;
  const std::size_t planned = pool_.bytes_used() + BufferPool::block_bytes(more);
  return planned <= config::dcm_buffer_planned(settings_.memory_bytes) && slice.memory.reserve(pool_, more);
}

void Collector::begin_ahead(BuiltSlice& slice, TimeNs) {
  Gathering& gathering = slice.gathering;
  std::shared_ptr<const Selection> selection = std::exchange(gathering.hint, nullptr);
  if (slice.pushed) return;
  if (slice.step < after_steps_.size() && !after_steps_[slice.step]->sources.empty()) {
    if (selection == nullptr) {
      selection = after_steps_[slice.step];
    } else {
      std::vector<SourceId> both;
      for (const auto* part : {selection.get(), after_steps_[slice.step].get()}) {
        for (const SourceIndex source : part->sources) both.push_back(assembler_.sources()[source].id);
      }
      std::sort(both.begin(), both.end());
      both.erase(std::unique(both.begin(), both.end()), both.end());
      selection = select(both);
    }
  }
  if (selection == nullptr || !has_room_ahead(slice, *selection)) return;
  const bool some_absent = find_absent(slice.assignment.order);
  const auto serves_now = [&](std::uint32_t readout) {
    return flows_[readout].up && !lost_.is_given_up(readout) && !(some_absent && absent_[readout]);
  };
  ahead_sources_.clear();
  for (const SourceIndex source : selection->sources) {
    if (serves_now(assembler_.sources()[source].readout)) ahead_sources_.push_back(source);
  }
  if (assembler_.want_ahead(slice, ahead_sources_) == 0) return;
  if (gathering.has_begun()) want_nothing(slice);
  gathering.begin(settings_.readouts, std::move(selection), slice.id().value);
  gathering.ahead = true;
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    ++steps_;
    Gathering::Part& part = gathering.parts[readout];
    part.next = part.offset = 0;
    part.again = true;
    if (!gathering.selection->by_readout[readout].empty() && serves_now(readout)) want_of(slice, readout);
  }
  ahead_begun_ = true;
}

// Large fragments of which some bytes were requested and some not: of a selection that another one follows.
std::vector<Gathering::Range> Collector::parts_under_way(const BuiltSlice& slice) const {
  const Gathering& gathering = slice.gathering;
  const auto is_under_way = [&](SourceIndex source) {
    using enum FragmentProgress::State;
    const FragmentProgress::State state = slice.progress[source].state;
    return state == requested || state == receiving || state == ahead || state == receiving_ahead;
  };
  std::vector<Gathering::Range> ranges = gathering.ranges_to_keep(is_under_way);
  for (std::uint32_t readout = 0; readout < gathering.parts.size(); ++readout) {
    const Gathering::Part& part = gathering.parts[readout];
    const std::vector<SourceId>& sources = gathering.selection->by_readout[readout];
    if (part.offset == 0 || part.next >= sources.size()) continue;
    const SourceIndex source = *assembler_.index_of(sources[part.next]);
    // The assembler requests nothing below `asked`. The expectation may be smaller by now.
    const std::uint32_t asked = slice.progress[source].asked;
    if (is_under_way(source) && asked > part.offset)
      ranges.push_back({source, part.offset, asked - part.offset, Gathering::kNone});
  }
  return ranges;
}

void Collector::cancel_ahead(BuiltSlice& slice) {
  if (slice.gathering.ahead) want_nothing(slice);
  if (slice.ahead > 0) {
    const bool unsent_only = [&] {
      assembler_.cancel_unsent(slice);
      return slice.ahead == 0;
    }();
    const wire::CopyId entry{slice.id(), slice.attempt(), {}};
    for (std::uint32_t readout = 0; readout < settings_.readouts && !unsent_only; ++readout) {
      Flow& flow = flows_[readout];
      if (!flow.up || slice.gathering.parts[readout].owed_fragments == 0) continue;
      sends_to(readout);
      if (!flow.requests.empty()) flow.requests.take_frame(flow.frames);
      wire::append_slice_entries(wire::FrameType::cancel, std::array{entry}, flow.frames);
    }
  }
  assembler_.end_ahead(slice);
}

}  // namespace weir::dcm
