#include <weir/assembly/assembler.hpp>
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace weir::assembly {
namespace {

bool is_outstanding(const FragmentProgress& progress) {
  return progress.state == FragmentProgress::State::requested ||
         progress.state == FragmentProgress::State::receiving;
}

struct WholeSize {
  std::size_t bytes = 0;
  bool known = true;
};

// Estimates the memory that all requested fragments would take: those that are absent count as the mean of
// the others. Not known if all are absent.
WholeSize size_of_whole(const BuiltSlice& slice) {
  const std::size_t bytes = slice.memory.placed() + slice.refused_bytes;
  if (slice.flawed == 0 && slice.outstanding == 0) return {bytes, true};
  std::size_t here = 0;
  std::size_t absent = 0;
  for (std::size_t i = 0; i < slice.progress.size(); ++i) {
    const weir_filter_fragment& entry = slice.arrived(static_cast<SourceIndex>(i));
    const bool missing = entry.status == abi_status(FragmentStatus::missing);
    const bool counted =
        missing && entry.missing_reason == static_cast<std::uint8_t>(MissingReason::no_buffer);  // as refused
    const bool done = slice.progress[i].state == FragmentProgress::State::done ||
                      slice.progress[i].state == FragmentProgress::State::unnamed ||
                      slice.progress[i].state == FragmentProgress::State::here_ahead;
    // The first range of a fragment takes the memory of all of it.
    const bool placed = is_outstanding(slice.progress[i]) && slice.progress[i].target != nullptr;
    if ((is_outstanding(slice.progress[i]) && !placed) || (done && missing && !counted)) {
      ++absent;
    } else if (done || placed) {
      ++here;
    }
  }
  if (here == 0) return {0, absent == 0};
  return {bytes + bytes / here * absent, true};
}

}  // namespace

std::size_t waiting_slices_max(std::uint64_t buffer_bytes, std::size_t sources) {
  constexpr std::uint64_t kShare = 8;
  constexpr std::uint64_t kSliceBytes = 4096;  // its object, its filter's result, the head of its record
  constexpr std::uint64_t kMost = 32'768;      // half of the requests for space that a writer takes
  return std::min(kMost, buffer_bytes / kShare / (kSliceBytes + sources * kSourceRowBytes));
}

Assembler::Assembler(AssemblySettings settings, std::vector<SourceInfo> sources, BufferPool& pool,
                     SliceTable& slices)
    : settings_(settings),
      sources_(std::move(sources)),
      blank_table_(sources_.size()),
      pool_(pool),
      slices_(slices),
      tallies_(sources_.size()) {
  for (SourceIndex i = 0; i < sources_.size(); ++i) {
    WEIR_ASSERT(i == 0 || sources_[i - 1].id < sources_[i].id);
    index_.emplace(sources_[i].id, i);
    blank_table_[i].source = sources_[i].id.value;
    blank_table_[i].status = abi_status(FragmentStatus::not_requested);
    if (places_.size() <= sources_[i].readout) places_.resize(sources_[i].readout + 1);
  }
  sort_by_readout();
}

void Assembler::sort_by_readout() {
  first_of_.assign(places_.size() + 1, 0);
  for (const SourceInfo& source : sources_) ++first_of_[source.readout + 1];
  std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
  std::vector<std::uint32_t> next(first_of_.begin(), first_of_.end() - 1);
  by_readout_.resize(sources_.size());
  for (SourceIndex i = 0; i < sources_.size(); ++i) by_readout_[next[sources_[i].readout]++] = i;
}

Assembler::~Assembler() {
  const auto give_back = [this](BuiltSlice& slice) {
    if (!slice.memory.is_shared()) slice.memory.release(pool_);
  };
  slices_.for_each_open(give_back);
  slices_.for_each_in(BuildState::released, give_back);
}

std::optional<SourceIndex> Assembler::index_of(SourceId source) const {
  // Ids without gaps are the rule.
  const std::uint32_t guess = sources_.empty() ? 0 : source.value - sources_.front().id.value;
  if (guess < sources_.size() && sources_[guess].id == source) return guess;
  const auto found = index_.find(source);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

Expected<void, OpenError> Assembler::open(BuiltSlice& slice, TimeNs now_ns) {
  if (full()) return Unexpected<OpenError>(OpenError::full);
  if (!slices_.open(slice)) return Unexpected<OpenError>(OpenError::duplicate);
  slice.assigned_ns = now_ns;
  if (!spare_rows_.empty()) take_rows_of_spare(slice);
  slice.table = blank_table_;
  slice.progress.assign(sources_.size(), FragmentProgress{});
  if (settings_.order == ReleaseOrder::by_id) unreleased_.insert(slice.id());
  return {};
}

std::uint32_t Assembler::want(BuiltSlice& slice, std::span<const SourceIndex> sources) {
  std::uint32_t fresh = 0;
  if (slice.early.empty()) {
    for (const SourceIndex source : sources) fresh += slice.progress[source].request();
  } else {
    for (const SourceIndex source : sources) fresh += want_one(slice, source);
  }
  return wanted(slice, fresh);
}

std::uint32_t Assembler::wanted(BuiltSlice& slice, std::uint32_t fresh) {
  const bool begins = slice.state() == BuildState::waiting_for_memory;
  WEIR_ASSERT(begins || slice.state() == BuildState::collecting);
  slice.outstanding += fresh;
  counters_.requested += fresh;
  if (slice.outstanding == 0) {
    completed(slice);  // no fragment is awaited
  } else if (begins) {
    slices_.change(slice, BuildState::collecting);
  }
  return fresh;
}

std::uint32_t Assembler::want_all(BuiltSlice& slice) {
  std::uint32_t fresh = 0;
  if (slice.early.empty()) {
    for (FragmentProgress& progress : slice.progress) fresh += progress.request();
  } else {
    for (SourceIndex i = 0; i < slice.progress.size(); ++i) fresh += want_one(slice, i);
  }
  return wanted(slice, fresh);
}

DurationNs Assembler::own_deadline_ns(const BuiltSlice& slice) const {
  return slice.step < settings_.step_deadlines_ns.size() ? settings_.step_deadlines_ns[slice.step] : 0;
}

void Assembler::requested(BuiltSlice& slice, TimeNs now_ns) {
  if (slice.first_request_ns == 0) slice.first_request_ns = now_ns;
  if (slice.deadline_ns != 0) return;
  if (const DurationNs own_ns = own_deadline_ns(slice); own_ns > 0) {
    slice.deadline_ns = slice.deadline_most_ns = now_ns + own_ns;
  } else {
    slice.deadline_ns = now_ns + settings_.deadline_ns;
    slice.deadline_most_ns = now_ns + std::max(settings_.deadline_ns, settings_.deadline_most_ns);
  }
  earliest_deadline_ns_ = std::min(earliest_deadline_ns_, slice.deadline_ns);
}

void Assembler::expect(BuiltSlice& slice, TimeNs deadline_ns) {
  if (settings_.order == ReleaseOrder::pushed_by_id) unreleased_.insert(slice.id());
  slice.deadline_ns = slice.deadline_most_ns = deadline_ns;
  earliest_deadline_ns_ = std::min(earliest_deadline_ns_, deadline_ns);
}

void Assembler::mark_missing(BuiltSlice& slice, SourceIndex source, MissingReason reason) {
  weir_filter_fragment& entry = slice.table[source];
  if (!planted(Planted::forget_missing)) entry.status = abi_status(FragmentStatus::missing);
  entry.missing_reason = static_cast<std::uint8_t>(reason);
  entry.data = nullptr;
  entry.length = 0;
  count_missing(source, reason);
  if (reason != MissingReason::removed) ++slice.flawed;
}

void Assembler::fragment_done(BuiltSlice& slice, SourceIndex source, TimeNs now_ns) {
  slice.progress[source].state = State::done;
  slice.last_fragment_ns = now_ns;
  --slice.outstanding;
  if (slice.outstanding == 0) completed(slice);
}

void Assembler::lose(BuiltSlice& slice, SourceIndex source, MissingReason reason, TimeNs now_ns) {
  ++steps_;
  if (!is_outstanding(slice.progress[source])) return;
  mark_missing(slice, source, reason);
  fragment_done(slice, source, now_ns);
}

void Assembler::give_up(BuiltSlice& slice, MissingReason reason, TimeNs now_ns) {
  if (slice.state() != BuildState::collecting) return;
  expired_.push_back(&slice);
  for (SourceIndex i = 0; i < slice.progress.size() && slice.outstanding > 0; ++i)
    lose(slice, i, reason, now_ns);
}

void Assembler::withdraw(BuiltSlice& slice) {
  if (slice.crowded_out) learn_size(slice);
  if (slice.outstanding > 0 || slice.ahead > 0) expired_.push_back(&slice);
  end_ahead(slice);
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    if (!is_outstanding(slice.progress[i])) continue;
    slice.progress[i].state = State::done;
    slice.table[i].status = abi_status(FragmentStatus::missing);
    ++counters_.cancelled;
  }
  slice.outstanding = 0;
  slices_.change(slice, BuildState::decided);
  if (settings_.order != ReleaseOrder::as_completed) unreleased_.erase(slice.id());
}

void Assembler::readouts_lost(std::span<const std::uint32_t> readouts, MissingReason reason, TimeNs now_ns) {
  if (readouts.empty()) return;
  slices_.for_each_open([&](BuiltSlice& slice) {
    if (!slice.fetched) readouts_lost(slice, readouts, reason, now_ns);
  });
}

void Assembler::readouts_lost(BuiltSlice& slice, std::span<const std::uint32_t> readouts,
                              MissingReason reason, TimeNs now_ns) {
  if (slice.ahead > 0) cancel_ahead_of(slice, readouts);
  if (slice.state() != BuildState::collecting) return;
  for (const std::uint32_t readout : readouts) {
    for (const SourceIndex source : sources_of(readout)) {
      if (slice.outstanding == 0) return;
      lose(slice, source, reason, now_ns);
    }
  }
}

void Assembler::expire(TimeNs now_ns) {
  if (now_ns < earliest_deadline_ns_) return;
  earliest_deadline_ns_ = kNever;
  slices_.for_each_open([&](BuiltSlice& slice) {
    if (slice.state() != BuildState::collecting || slice.deadline_ns == 0) return;
    if (now_ns < slice.deadline_ns || extend_deadline(slice, now_ns)) {
      earliest_deadline_ns_ = std::min(earliest_deadline_ns_, slice.deadline_ns);
      return;
    }
    // The readouts receive cancels for its requests, including those ahead.
    for (SourceIndex i = 0; i < slice.progress.size() && slice.ahead > 0; ++i) {
      if (slice.progress[i].is_ahead()) cancel_ahead(slice, i);
    }
    slice.expired_empty = slice.last_fragment_ns == 0;
    give_up(slice, MissingReason::deadline, now_ns);
  });
}

void Assembler::put_off_deadlines(TimeNs now_ns) {
  earliest_deadline_ns_ = kNever;
  slices_.for_each_open([&](BuiltSlice& slice) {
    if (slice.state() != BuildState::collecting || slice.deadline_ns == 0) return;
    const DurationNs own_ns = own_deadline_ns(slice);
    slice.deadline_ns = std::max(slice.deadline_ns, now_ns + (own_ns > 0 ? own_ns : settings_.deadline_ns));
    slice.deadline_most_ns = std::max(slice.deadline_most_ns, slice.deadline_ns);
    earliest_deadline_ns_ = std::min(earliest_deadline_ns_, slice.deadline_ns);
  });
}

// Half a deadline without a byte ends the slice, so that a dead readout costs no more than that.
bool Assembler::extend_deadline(BuiltSlice& slice, TimeNs now_ns) {
  const DurationNs gap_ns = std::max(settings_.deadline_ns / 2, gap_ns_);
  const TimeNs later = std::min(slice.last_fragment_ns + gap_ns, slice.deadline_most_ns);
  if (later <= now_ns) return false;
  slice.deadline_ns = later;
  return true;
}

std::vector<BuiltSlice*> Assembler::take_expired() { return std::exchange(expired_, {}); }

void Assembler::completed(BuiltSlice& slice) {
  slices_.change(slice, BuildState::complete);
  learn_size(slice);
  if (slice.memory.placed() == 0 && slice.receiving == 0) slice.memory.release(pool_);
}

void Assembler::learn_size(const BuiltSlice& slice) {
  const WholeSize whole = size_of_whole(slice);
  if (!whole.known) return;
  slice_bytes_expected_ = std::max(slice_bytes_expected_, whole.bytes);
  knows_sizes_ = true;
}

std::vector<BuiltSlice*> Assembler::take_crowded_out() {
  std::vector<BuiltSlice*> slices = std::exchange(crowded_out_, {});
  std::erase_if(slices, [](BuiltSlice* slice) {
    const bool lacks =
        slice->state() == BuildState::collecting || slice->state() == BuildState::waiting_for_memory;
    if (!lacks) slice->crowded_out = false;  // its step has ended: it may lack memory for the next one
    return !lacks;
  });
  return slices;
}

void Assembler::take_completed(std::vector<BuiltSlice*>& out) {
  if (slices_.in(BuildState::complete).empty()) return;
  if (settings_.order != ReleaseOrder::as_completed) return hand_out_by_id(out);
  while (BuiltSlice* slice = slices_.first_in(BuildState::complete)) hand_out(*slice, out);
}

void Assembler::hand_out_by_id(std::vector<BuiltSlice*>& out) {
  std::vector<BuiltSlice*> sorted;
  slices_.for_each_in(BuildState::complete, [&](BuiltSlice& slice) { sorted.push_back(&slice); });
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->id() < b->id(); });
  for (BuiltSlice* slice : sorted) {
    if (waits_for_smaller(*slice)) continue;
    if (slice->step == 0) unreleased_.erase(slice->id());
    hand_out(*slice, out);
  }
}

void Assembler::complete_again(BuiltSlice& slice) {
  slices_.change(slice, BuildState::complete);
  if (settings_.order == ReleaseOrder::pushed_by_id) unreleased_.insert(slice.id());
}

void Assembler::let_overtake() {
  if (settings_.order != ReleaseOrder::by_id) return;
  for (const BuiltSlice& slice : slices_.in(BuildState::complete)) unreleased_.erase(slice.id());
}

void Assembler::hand_out(BuiltSlice& slice, std::vector<BuiltSlice*>& out) {
  slices_.change(slice, BuildState::queued);
  out.push_back(&slice);
}

void Assembler::next_step(BuiltSlice& slice) {
  ++slice.step;
  slice.deadline_ns = 0;
  slices_.change(slice, BuildState::waiting_for_memory);
}

std::size_t Assembler::leaving() const {
  const auto& complete = slices_.in(BuildState::complete);
  const std::size_t left =
      slices_.open_count() - collecting() - slices_.in(BuildState::waiting_for_memory).size();
  if (settings_.order != ReleaseOrder::by_id) return left;
  // With release by id the others wait for a slice that may itself wait for memory.
  const bool next = std::any_of(complete.begin(), complete.end(),
                                [this](const BuiltSlice& slice) { return !waits_for_smaller(slice); });
  return next ? left : left - complete.size();
}

void Assembler::release(BuiltSlice& slice) {
  if (slice.outstanding > 0) {
    // A slice that is released before it is complete has had its rest given up.
    for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
      if (is_outstanding(slice.progress[i])) mark_missing(slice, i, MissingReason::dropped);
    }
    slice.outstanding = 0;
  }
  if (!slice.counts) count_overtaken(slice);
  end_ahead(slice);
  slice.early.clear();
  std::erase(expired_, &slice);
  if (slice.crowded_out) std::erase(crowded_out_, &slice);
  for (RangeWanted& wanted : ranges_wanted_) {
    if (wanted.slice == &slice) wanted.slice = nullptr;
  }
  if (settings_.order != ReleaseOrder::as_completed) unreleased_.erase(slice.id());
  // Follows downward slowly: one large slice is not remembered forever. A part of a slice says nothing here.
  const std::size_t bytes = slice.memory.placed() + slice.refused_bytes;
  slice_bytes_expected_ = std::max(slice_bytes_expected_, bytes);
  if (slice.flawed == 0 && slice.decision.failure.empty())
    slice_bytes_expected_ -= (slice_bytes_expected_ - bytes) / 64;
  for (BuiltSlice*& place : places_) {
    if (place == &slice) place = slices_.opened_after(slice);
  }
  slices_.close(slice);
  if (slice.receiving == 0) free_memory(slice);
}

void Assembler::count_missing(SourceIndex source, MissingReason reason) {
  ++counters_.missing[static_cast<std::size_t>(reason)];
  tallies_.miss(source, reason);
}

void Assembler::count_overtaken(const BuiltSlice& slice) {
  for (SourceIndex i = 0; i < slice.table.size(); ++i) {
    const weir_filter_fragment& fragment = slice.arrived(i);
    const bool missing = fragment.status == abi_status(FragmentStatus::missing);
    if (missing && fragment.missing_reason != 0) note_overtaken(i, fragment);
  }
}

void Assembler::note_overtaken(SourceIndex source, const weir_filter_fragment& missing) {
  ++counters_.overtaken[missing.missing_reason];
  tallies_.overtake(source, static_cast<MissingReason>(missing.missing_reason));
}

void Assembler::free_memory(BuiltSlice& slice) {
  if (!planted(Planted::never_release) || slice.id().value % 8 != 3) slice.memory.release(pool_);
  if (has_many_sources()) {
    spare_rows_.push_back({std::move(slice.table), std::move(slice.progress)});
    slice.shipment = {};
  }
  slices_.change(slice, BuildState::spare);
}

void Assembler::take_rows_of_spare(BuiltSlice& slice) {
  slice.table = std::move(spare_rows_.back().table);
  slice.progress = std::move(spare_rows_.back().progress);
  spare_rows_.pop_back();
}

}  // namespace weir::assembly
