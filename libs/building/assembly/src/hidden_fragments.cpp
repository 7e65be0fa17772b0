// Fragments that have arrived, or are requested, and are hidden from the filter until a step names them.
#include <weir/assembly/assembler.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::assembly {
// For a slice with fragments that are or were ahead.
std::uint32_t Assembler::want_one(BuiltSlice& slice, SourceIndex source) {
  FragmentProgress& progress = slice.progress[source];
  switch (progress.state) {
    case State::ahead:
    case State::receiving_ahead:
      progress.state = progress.state == State::ahead ? State::requested : State::receiving;
      slice.table[source].total = slice.early[source].total;
      WEIR_ASSERT(slice.ahead > 0);
      --slice.ahead;
      ++slice.outstanding;
      ++counters_.prefetch_used;
      return 0;
    case State::here_ahead:
      ++counters_.prefetch_used;
      [[fallthrough]];
    case State::unnamed:
      show(slice, source);
      return 0;
    case State::receiving_cancelled:
      progress.state = State::receiving;
      progress.asked = 0;  // further ranges of it were cancelled
      slice.table[source].total = slice.early[source].total;
      return 1;
    case State::cancelled:
      progress = FragmentProgress{};
      [[fallthrough]];
    default:
      return progress.request();
  }
}

// It has arrived, and the step needs it.
void Assembler::show(BuiltSlice& slice, SourceIndex source) {
  weir_filter_fragment& entry = slice.table[source];
  entry = slice.early[source];
  slice.progress[source].state = State::done;
  slice.payload_bytes += entry.length;
  if (has_flaw(entry)) ++slice.flawed;
}

bool Assembler::is_here(const BuiltSlice& slice, const Selection& selection) const {
  return std::all_of(selection.sources.begin(), selection.sources.end(), [&slice](SourceIndex source) {
    const State state = slice.progress[source].state;
    return state == State::done || state == State::unnamed || state == State::here_ahead;
  });
}

void Assembler::hide_unnamed(BuiltSlice& slice, const Selection& named) {
  WEIR_ASSERT(slice.outstanding == 0);
  if (named.all) return;
  named_.assign(sources_.size(), false);
  for (const SourceIndex source : named.sources) named_[source] = true;
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    if (named_[i] || slice.progress[i].state != State::done) continue;
    if (slice.early.empty()) slice.early = blank_table_;
    weir_filter_fragment& entry = slice.table[i];
    WEIR_ASSERT(entry.length <= slice.payload_bytes);
    slice.payload_bytes -= entry.length;
    if (has_flaw(entry)) --slice.flawed;
    slice.early[i] = std::exchange(entry, blank_table_[i]);
    slice.progress[i].state = State::unnamed;
  }
}

void Assembler::show_unnamed(BuiltSlice& slice) {
  if (slice.early.empty()) return;
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    if (slice.progress[i].state == State::unnamed) show(slice, i);
  }
}

std::uint32_t Assembler::want_ahead(BuiltSlice& slice, std::span<const SourceIndex> sources) {
  WEIR_ASSERT(slice.state() == BuildState::queued);
  std::uint32_t fresh = 0;
  for (const SourceIndex source : sources) {
    FragmentProgress& progress = slice.progress[source];
    if (progress.state != State::idle) continue;
    progress.state = State::ahead;
    ++fresh;
  }
  if (fresh > 0 && slice.early.empty()) slice.early = blank_table_;
  slice.ahead += fresh;
  counters_.requested += fresh;
  counters_.prefetched += fresh;
  return fresh;
}

void Assembler::cancel_ahead(BuiltSlice& slice, SourceIndex source) {
  FragmentProgress& progress = slice.progress[source];
  WEIR_ASSERT(slice.ahead > 0);
  if (progress.state == State::receiving_ahead) {
    progress.state = State::receiving_cancelled;
  } else {
    progress = FragmentProgress{};
    progress.state = State::cancelled;
    slice.early[source] = blank_table_[source];
  }
  WEIR_ASSERT(slice.ahead > 0);
  --slice.ahead;
  ++counters_.cancelled;
  ++counters_.prefetch_unused;
}

bool Assembler::cancel_unsent(BuiltSlice& slice) {
  bool any = false;
  for (SourceIndex i = 0; i < slice.progress.size() && slice.ahead > 0; ++i) {
    if (slice.progress[i].state != State::ahead || slice.progress[i].sent_ahead) continue;
    cancel_ahead(slice, i);
    any = true;
  }
  return any;
}

void Assembler::cancel_ahead_of(BuiltSlice& slice, std::span<const std::uint32_t> readouts) {
  for (const std::uint32_t readout : readouts) {
    for (const SourceIndex source : sources_of(readout)) {
      ++steps_;
      if (slice.progress[source].is_ahead()) cancel_ahead(slice, source);
    }
  }
}

void Assembler::end_ahead(BuiltSlice& slice) {
  if (slice.early.empty()) return;
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    if (slice.progress[i].is_ahead()) cancel_ahead(slice, i);
    if (slice.progress[i].state != State::here_ahead) continue;
    slice.progress[i].state = State::cancelled;
    if (slice.early[i].status == abi_status(FragmentStatus::missing)) note_overtaken(i, slice.early[i]);
    counters_.prefetch_wasted_bytes += slice.early[i].length;
    ++counters_.prefetch_unused;
  }
  WEIR_ASSERT(slice.ahead == 0);
}

// Hidden like its bytes would be, until a step names it.
void Assembler::miss_ahead(BuiltSlice& slice, SourceIndex source, MissingReason reason) {
  weir_filter_fragment& entry = slice.early[source];
  entry.status = abi_status(FragmentStatus::missing);
  entry.missing_reason = static_cast<std::uint8_t>(reason);
  count_missing(source, reason);
  slice.progress[source].state = State::here_ahead;
  WEIR_ASSERT(slice.ahead > 0);
  --slice.ahead;
}

}  // namespace weir::assembly
