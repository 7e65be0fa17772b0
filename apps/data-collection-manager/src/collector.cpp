#include "collector.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/config/expected_sizes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::Gathering;
using assembly::Selection;
using assembly::SourceIndex;

constexpr std::size_t kFirstShare = 4;  // share of the pool for the first slice, before its size is known
constexpr DurationNs kLookForOldest = kMillisecond;
constexpr DurationNs kGiveWay = 500 * kMillisecond;
// TCP's timeout after a loss is at least two round trips; the retransmission takes another one.
constexpr DurationNs kGapRoundTrips = 6;
constexpr DurationNs kOutageMax = 30 * kSecond;  // TCP gives up a connection that is dead for longer

}  // namespace

Collector::Collector(CollectorSettings settings, assembly::Assembler& assembler, assembly::SliceTable& slices,
                     BufferPool& pool, std::unique_ptr<shaping::Shaper> shaper)
    : settings_(settings),
      assembler_(assembler),
      slices_(slices),
      pool_(pool),
      shaper_(std::move(shaper)),
      learns_(shaper_->learns()),
      strict_(shaper_->strict()),
      flows_(settings.readouts),
      expected_(assembler.sources().size()),
      wants_(settings.readouts),
      ahead_wants_(settings.readouts),
      choice_(settings.order, settings.first_readout, settings.readouts),
      down_(settings.readouts),
      lost_(settings.readouts),
      heard_(settings.readouts) {
  std::iota(down_.begin(), down_.end(), 0U);
  auto all = std::make_shared<Selection>();
  all->all = true;
  all->by_readout.resize(settings_.readouts);
  for (SourceIndex i = 0; i < assembler_.sources().size(); ++i) {
    const assembly::SourceInfo& source = assembler_.sources()[i];
    all->sources.push_back(i);
    all->by_readout[source.readout].push_back(source.id);
    ++flows_[source.readout].sources;
    ++flows_[source.readout].unknown;
  }
  everything_ = std::move(all);
}

std::shared_ptr<const Selection> Collector::select(std::span<const SourceId> sources) const {
  auto selection = std::make_shared<Selection>();
  selection->by_readout.resize(settings_.readouts);
  for (const SourceId source : sources) {
    const auto index = assembler_.index_of(source);
    if (!index) continue;  // masked: no readout serves it
    selection->sources.push_back(*index);
    selection->by_readout[assembler_.sources()[*index].readout].push_back(source);
  }
  return selection;
}

void Collector::collect(BuiltSlice& slice, std::shared_ptr<const Selection> selection) {
  WEIR_ASSERT(slice.state() == BuildState::waiting_for_memory && selection != nullptr);
  lost_.note_work();
  // A wish that is fulfilled needs no memory, and does not wait for any.
  if (slice.step > 0 && assembler_.is_here(slice, *selection)) return want(slice, *selection);
  slice.gathering.next_bytes = bytes_expected(slice, *selection);
  slice.gathering.next = std::move(selection);
}

// Requests of earlier steps that have not left are not sent any more.
void Collector::want(BuiltSlice& slice, const Selection& selection) {
  if (slice.gathering.has_begun()) want_nothing(slice);
  (void)(selection.all ? assembler_.want_all(slice) : assembler_.want(slice, selection.sources));
  if (!slice.early.empty()) assembler_.cancel_unsent(slice);
}

void Collector::forget(BuiltSlice& slice) {
  Gathering& gathering = slice.gathering;
  if (!gathering.has_begun()) return gathering.end();
  for (std::uint32_t readout = 0; readout < gathering.parts.size(); ++readout) {
    ++steps_;
    const Gathering::Part& part = gathering.parts[readout];
    flows_[readout].late_fragments += part.owed_fragments;
    flows_[readout].late_bytes += part.owed_bytes;
    if (part.owed_fragments == 0 || flows_[readout].pending.empty()) continue;
    flows_[readout].pending.forget(slice.id());
  }
  want_nothing(slice);
  gathering.end();
}

std::size_t Collector::bytes_expected(const BuiltSlice& slice, const Selection& selection) const {
  if (slice.step == 0 && selection.all) return 0;  // as all slices: Assembler::slice_bytes_expected()
  std::size_t bytes = 0;
  for (const SourceIndex source : selection.sources) {
    const auto state = slice.progress[source].state;
    if (state == assembly::FragmentProgress::State::idle ||
        state == assembly::FragmentProgress::State::cancelled)
      bytes += assembly::SliceMemory::placed_bytes(expected_[source].bytes());
  }
  return bytes;
}

std::size_t Collector::bytes_to_reserve(const BuiltSlice& slice) const {
  const std::size_t placed = slice.memory.placed();
  const std::size_t next = placed + slice.gathering.next_bytes;
  return std::max(assembler_.slice_bytes_expected(), next) - placed;
}

bool Collector::make_room(BuiltSlice& slice) {
  // If no other slice gives memory back, the slice starts with the memory that is left.
  const bool alone =
      assembler_.collecting() + assembler_.leaving() == 0 && slices_.in(BuildState::released).empty();
  if (!assembler_.knows_sizes()) {
    // The first slice runs alone to learn the sizes, in a large block, of which fragments leave little
    // unused. A pushed one that has not begun to arrive holds nothing, and may wait for this one to be
    // cleared.
    const auto learns = [](const BuiltSlice& other) { return !other.pushed || other.memory.bytes() > 0; };
    if (slices_.find_in(BuildState::collecting, learns) != nullptr) return false;
    return slice.memory.reserve(pool_, std::bit_floor(pool_.bytes_total()) / kFirstShare) || alone;
  }
  const std::size_t more = bytes_to_reserve(slice);
  if (more <= slice.memory.room()) return true;
  const std::size_t planned = pool_.bytes_used() + BufferPool::block_bytes(more);
  if (!alone && planned > config::dcm_buffer_planned(settings_.memory_bytes)) return false;
  if (slice.memory.reserve(pool_, more)) return true;
  if (!alone || slices_.in(BuildState::complete).empty()) return alone;
  assembler_.let_overtake();
  return false;
}

void Collector::start_slices(TimeNs now_ns) {
  const auto next = [this] {
    return oldest_first_ ? oldest_waiting() : slices_.first_in(BuildState::waiting_for_memory);
  };
  while (BuiltSlice* slice = next()) {
    if (!make_room(*slice)) return start_oldest(now_ns);
    oldest_first_ = false;
    start(*slice, now_ns);
  }
}

BuiltSlice* Collector::oldest_waiting() {
  BuiltSlice* oldest = nullptr;
  slices_.for_each_in(BuildState::waiting_for_memory, [&](BuiltSlice& slice) {
    if (oldest == nullptr || is_older(slice, *oldest)) oldest = &slice;
  });
  return oldest;
}

void Collector::start_oldest(TimeNs now_ns) {
  // Slices that leave give their memory back.
  if (assembler_.collecting() == 0 || assembler_.leaving() > 0) return;
  if (now_ns - oldest_looked_ns_ < kLookForOldest) return;
  oldest_looked_ns_ = now_ns;
  BuiltSlice* const oldest = oldest_waiting();
  const auto is_before = [&](const BuiltSlice& slice) { return is_older(slice, *oldest); };
  if (slices_.find_in(BuildState::collecting, is_before) != nullptr) return;
  // The slice that learns the sizes is alone, and gives way too.
  if (assembler_.knows_sizes() && oldest->memory.reserve(pool_, bytes_to_reserve(*oldest)))
    return start(*oldest, now_ns);
  if (now_ns - moved_ns_ < kGiveWay) return;
  // Readouts make newer slices when the oldest is cleared, and these have its memory.
  BuiltSlice* newest = nullptr;
  slices_.for_each_in(BuildState::collecting, [&](BuiltSlice& slice) {
    if (newest == nullptr || is_older(*newest, slice)) newest = &slice;
  });
  // Pushed slices may hold nothing, and wait for full readouts; complete ones may have all of the memory.
  if (newest->pushed) return assembler_.let_overtake();
  assembler_.crowd_out(*newest);
  oldest_first_ = true;
}

void Collector::expect_pushed(BuiltSlice& slice, TimeNs now_ns) {
  lost_.note_work();
  assembler_.want_all(slice);
  // Whatever range of a fragment has arrived, the rest is on its way.
  for (assembly::FragmentProgress& progress : slice.progress) progress.asked = UINT32_MAX;
  if (find_absent(slice.assignment.order)) mark_absent(slice, now_ns);
  lose_given_up(slice, now_ns);
}

void Collector::assignment_came(BuiltSlice& slice, TimeNs now_ns) {
  if (find_absent(slice.assignment.order)) mark_absent(slice, now_ns);
}

void Collector::ask_for_rest(BuiltSlice& slice, std::span<const std::uint32_t> readouts) {
  if (slice.state() != BuildState::collecting) return;
  Gathering& gathering = slice.gathering;
  if (!gathering.has_begun()) gathering.begin(settings_.readouts, everything_, slice.id().value);
  std::vector<bool> asked(settings_.readouts);
  for (const std::uint32_t readout : readouts) {
    // Otherwise requested before, or already missing.
    asked[readout] = !gathering.parts[readout].again && !lost_.is_given_up(readout);
    gathering.parts[readout].again = gathering.parts[readout].again || asked[readout];
  }
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    assembly::FragmentProgress& progress = slice.progress[i];
    const std::uint32_t readout = assembler_.sources()[i].readout;
    if (!asked[readout]) continue;
    if (progress.state == assembly::FragmentProgress::State::receiving) progress.asked = 0;
    if (progress.state != assembly::FragmentProgress::State::requested) continue;
    progress.start_again();
    want_of(slice, readout);
  }
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

void Collector::start(BuiltSlice& slice, TimeNs now_ns) {
  if (slice.fetched) return start_fetch(slice);
  Gathering& gathering = slice.gathering;
  const Selection& selection = *gathering.next;
  const bool has_early = !slice.early.empty();
  want(slice, selection);
  std::vector<Gathering::Range> under_way;
  if (has_early && gathering.has_begun()) under_way = parts_under_way(slice);
  if (slice.state() != BuildState::collecting) return gathering.next.reset();
  gathering.begin(settings_.readouts, std::move(gathering.next), slice.id().value);
  if (has_early) assembler_.requested(slice, now_ns);
  for (const Gathering::Range& range : under_way) {
    const std::uint32_t readout = assembler_.sources()[range.source].readout;
    gathering.add_range(readout, range);
    want_of(slice, readout);
  }
  bool lost = false;
  const bool absent = find_absent(slice.assignment.order);
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    ++steps_;
    Gathering::Part& part = gathering.parts[readout];
    part.next = part.offset = 0;
    part.again = slice.step > 0;
    lost = lost || lost_.is_given_up(readout);
    if (selection.by_readout[readout].empty() || lost_.is_given_up(readout)) continue;
    if (!absent || !absent_[readout]) want_of(slice, readout);
  }
  if (absent) mark_absent(slice, now_ns);
  if (!lost) return;
  assembler_.requested(slice, now_ns);
  lose_given_up(slice, now_ns);
}

bool Collector::any_readout_lost() const {
  return std::any_of(lost_.all().begin(), lost_.all().end(),
                     [this](std::uint32_t readout) { return serves(readout); });
}

void Collector::want_of(BuiltSlice& slice, std::uint32_t readout) {
  wants_of(slice).add(slice, readout);
  touch(readout);
}

void Collector::want_nothing(BuiltSlice& slice) {
  for (std::uint32_t readout = 0; readout < slice.gathering.parts.size(); ++readout) {
    ++steps_;
    if (!slice.gathering.parts[readout].wanted) continue;
    wants_of(slice).remove(slice, readout);
    touch(readout);
  }
}

void Collector::queue_ranges() {
  for (const assembly::RangeWanted& wanted : assembler_.ranges_wanted()) {
    if (wanted.slice == nullptr) continue;  // released meanwhile
    if (wanted.slice->fetched) wrong_copies_.emplace_back(wanted.slice->id(), wanted.slice->attempt());
    if (!wanted.slice->gathering.has_begun()) continue;
    const std::uint32_t readout = assembler_.sources()[wanted.source].readout;
    wanted.slice->gathering.add_range(readout, {wanted.source, wanted.offset, wanted.length});
    // All pieces of it are under way before the first has arrived.
    if (wanted.length > 0) wanted.slice->progress[wanted.source].asked = wanted.offset + wanted.length;
    want_of(*wanted.slice, readout);
  }
  assembler_.ranges_wanted().clear();
}

bool Collector::is_absent(std::uint32_t readout, SliceOrder slice) const {
  return absences_.may_cover(slice) &&
         absences_.covers(NodeIndex(static_cast<std::uint16_t>(readout)), slice);
}

bool Collector::find_absent(SliceOrder slice) {
  if (!absences_.may_cover(slice)) return false;
  absent_.resize(settings_.readouts);
  absent_readouts_.clear();
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    absent_[readout] = is_absent(readout, slice);
    if (absent_[readout]) absent_readouts_.push_back(readout);
  }
  return !absent_readouts_.empty();
}

void Collector::mark_absent(BuiltSlice& slice, TimeNs now_ns) {
  assembler_.readouts_lost(slice, absent_readouts_, MissingReason::removed, now_ns);
}

void Collector::set_absences(slice_rows::AbsenceTable absences, TimeNs now_ns) {
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    const NodeIndex index(static_cast<std::uint16_t>(readout));
    // It is back at the supervisor, and will be here.
    if (absences_.is_out(index) && !absences.is_out(index) && !flows_[readout].up)
      lost_.forget_verdict(readout);
  }
  steps_ += absences_.steps();
  absences_ = std::move(absences);
  // Marking may complete a slice: that changes its state, not the order of the open slices.
  std::vector<BuiltSlice*> open;
  slices_.for_each_open([&](BuiltSlice& slice) { open.push_back(&slice); });
  for (BuiltSlice* slice : open) {
    if (find_absent(slice->assignment.order)) mark_absent(*slice, now_ns);
  }
}

void Collector::readout_up(std::uint32_t readout, TimeNs) {
  Flow& flow = flows_[readout];
  flow.up = true;
  lost_.connected(readout);
  std::erase(down_, readout);
  touch(readout);
  if (planted(Planted::forget_request)) return;
  // Repeats the requests of the lost connection. Each slice goes to the front of the readout's list, so the
  // newest is added first.
  slices_.for_each_open_newest_first([&](BuiltSlice& slice) {
    ++steps_;
    Gathering& gathering = slice.gathering;
    if (!gathering.has_begun() || slice.state() != BuildState::collecting) return;
    if (gathering.selection->by_readout[readout].empty()) return;
    for (const SourceIndex source : assembler_.sources_of(readout)) {
      ++steps_;
      assembly::FragmentProgress& progress = slice.progress[source];
      if (progress.state == assembly::FragmentProgress::State::requested) progress.start_again();
    }
    Gathering::Part& part = gathering.parts[readout];
    while (part.first_range != Gathering::kNone) gathering.drop_first_range(readout);
    part.next = part.offset = 0;
    part.again = true;
    want_of(slice, readout);
  });
}

void Collector::readout_down(std::uint32_t readout) {
  Flow& flow = flows_[readout];
  if (std::exchange(flow.up, false)) down_.push_back(readout);
  wants_.look_again(readout);
  ahead_wants_.remove_all_of(readout);
  touch(readout);
  flow.pending.clear();
  forget_timing(readout);
  flow.owed = flow.late_fragments = flow.late_bytes = 0;
  flow.frames.clear();
  flow.requests = {};
  flow.progress = {.told = flow.progress.told};
  slices_.for_each_open([&](BuiltSlice& slice) {
    ++steps_;
    if (!slice.gathering.has_begun()) return;
    if (slice.ahead > 0) assembler_.cancel_ahead_of(slice, std::array{readout});
    slice.gathering.parts[readout].owed_fragments = 0;
    slice.gathering.parts[readout].owed_bytes = 0;
  });
  shaper_->readout_lost(readout);
}

void Collector::arrived(std::uint32_t readout, BuiltSlice* slice, std::uint64_t bytes, TimeNs now_ns) {
  Flow& flow = flows_[readout];
  const bool asked = slice != nullptr && slice->gathering.has_begun();
  std::uint64_t& owed = asked ? slice->gathering.parts[readout].owed_bytes : flow.late_bytes;
  const std::uint64_t back = std::min(owed, bytes);
  owed -= back;
  flow.owed -= std::min(flow.owed, back);
  touch(readout);
  if (slice != nullptr) assembly::Assembler::note_bytes(*slice, now_ns);
  if (back > 0) moved_ns_ = now_ns;
  progress_of(flow, readout).bytes += back;
}

// A shaper needs the sum of many small fragments, not each one, and no request is sent before this pass calls
// it.
void Collector::tell_progress(TimeNs now_ns) {
  for (const std::uint32_t readout : progressed_) {
    const Progress progress = std::exchange(flows_[readout].progress, {});
    if (progress.bytes > 0) shaper_->arrived(readout, progress.bytes, now_ns);
    if (progress.fragments > 0) shaper_->answered(readout, progress.fragments, progress.rest, now_ns);
  }
  progressed_.clear();
}

void Collector::answered(std::uint32_t readout, const assembly::Reception& reception,
                         const wire::FrameHeader& header) {
  // A fragment that the assembler refused may still answer a request of an open slice.
  BuiltSlice* slice =
      reception.slice != nullptr ? reception.slice : slices_.find(header.slice, header.attempt);
  const assembly::FragmentSize size{reception.source, header.total};
  const bool known = reception.slice != nullptr && header.status != FragmentStatus::missing;
  take_answer(readout, slice, {header.slice, header.offset, 1, header.length}, {&size, known ? 1U : 0U});
}

void Collector::answered(std::uint32_t readout, const assembly::BlockReception& reception,
                         const wire::FrameHeader& header) {
  take_answer(readout, reception.slice, {header.slice, 0, wire::block_head(header).rows, header.length},
              reception.taken);
}

void Collector::take_answer(std::uint32_t readout, BuiltSlice* slice, const PendingRequests::Answer& answer,
                            std::span<const assembly::FragmentSize> sizes) {
  Flow& flow = flows_[readout];
  Gathering::Part* part =
      slice != nullptr && slice->gathering.has_begun() ? &slice->gathering.parts[readout] : nullptr;
  const std::uint32_t owed = part == nullptr ? 0 : std::min(part->owed_fragments, answer.fragments);
  for (std::uint32_t late = answer.fragments - owed; late > 0 && flow.late_fragments > 0; --late) {
    const std::uint64_t back = flow.late_bytes / flow.late_fragments--;
    flow.late_bytes -= back;
    note_answer(flow, readout, 1, back);
  }
  if (owed == 0) return;
  if (flow.unknown > 0 && flow.guess > 0) learn_guess(flow, sizes);
  for (const assembly::FragmentSize& size : sizes) {
    if (!expected_[size.source].is_always(size.bytes)) learn_size(size.source, readout, size.bytes);
  }
  part->owed_fragments -= owed;
  if (learns_) flow.pending.answer(answer);
  note_answer(flow, readout, owed, part->owed_fragments == 0 ? std::exchange(part->owed_bytes, 0) : 0);
}

void Collector::timed(std::uint32_t readout, const wire::Timing& timing, TimeNs arrived_ns) {
  const auto answered = flows_[readout].pending.take_answered(timing.slice, timing.offset);
  if (!answered) return;
  replies_.push_back({readout, answered->asked_ns, answered->bytes, answered->owed + answered->bytes,
                      arrived_ns, timing.held_us * kMicrosecond});
}

void Collector::forget_timing(std::uint32_t readout) {
  std::erase_if(replies_, [readout](const Reply& reply) { return reply.readout == readout; });
}

void Collector::learn_size(SourceIndex source, std::uint32_t readout, std::uint32_t bytes) {
  shaping::ExpectedSize& expected = expected_[source];
  Flow& flow = flows_[readout];
  if (expected.known()) {
    flow.expected -= wire::fragment_wire_bytes(expected.bytes());
  } else {
    --flow.unknown;
  }
  expected.note(bytes);
  flow.expected += wire::fragment_wire_bytes(expected.bytes());
}

void Collector::pass(TimeNs now_ns) {
  give_up_readouts(now_ns);
  if (learns_) assembler_.set_gap(kGapRoundTrips * shaper_->base_ns());
  assembler_.expire(settings_.silence_ns > 0 ? line_up_until(now_ns) : now_ns);
  cancel_expired();
  tell_progress(now_ns);
  for (const Reply& reply : replies_) {
    const DurationNs time_ns = std::max<DurationNs>(1, now_ns - reply.asked_ns);
    const DurationNs host_ns = reply.held_ns + std::max<DurationNs>(0, now_ns - reply.arrived_ns);
    // Otherwise one side is wrong, or a clock was set.
    if (host_ns < time_ns)
      shaper_->response({reply.readout, time_ns, reply.bytes, host_ns, reply.owed}, now_ns);
  }
  replies_.clear();
  queue_ranges();
  start_slices(now_ns);
  issue(now_ns);
  if (!learns_) return;
  shaper_->set_slice_bytes(assembler_.slice_bytes_expected());
  shaper_->end_of_pass(!wants_.empty(), now_ns);
}

// Returns the latest time at which all readouts were heard: deadlines up to then are due, later ones wait for
// the line. After an outage no step ends for as long as it lasted, because TCP may wait that long before it
// repeats a request; then the steps begin their time anew.
TimeNs Collector::line_up_until(TimeNs now_ns) {
  TimeNs until = now_ns;
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    if (!lost_.is_given_up(readout) && serves(readout)) until = std::min(until, heard_[readout]);
  }
  const TimeNs before = std::exchange(line_up_until_, until);
  const bool heard_before = before > 0;
  if (heard_before && until - before > settings_.silence_ns)
    recovers_until_ = std::max(recovers_until_, now_ns + std::min(until - before, kOutageMax));
  if (now_ns < recovers_until_) return 0;
  if (std::exchange(recovers_until_, 0) > 0) assembler_.put_off_deadlines(now_ns);
  return until;
}

void Collector::give_up_readouts(TimeNs now_ns) {
  std::vector<std::uint32_t> given_up;
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (!lost_.is_to_be_given_up(readout) || !serves(readout)) continue;
    lost_.give_up(readout);
    wants_.remove_all_of(readout);
    ahead_wants_.remove_all_of(readout);
    touch(readout);  // its connection may be up, and silent
    given_up.push_back(readout);
  }
  assembler_.readouts_lost(given_up, MissingReason::source_down, now_ns);
}

bool Collector::waits_for_lost(const BuiltSlice& slice) {
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (!lost_.is_waited_for(readout)) continue;
    for (const SourceIndex source : assembler_.sources_of(readout)) {
      ++steps_;
      const auto state = slice.progress[source].state;
      if (state == assembly::FragmentProgress::State::requested ||
          state == assembly::FragmentProgress::State::receiving)
        return true;
    }
  }
  return false;
}

bool Collector::wants_lost(const BuiltSlice& slice) {
  for (const std::uint32_t readout : lost_.all()) {
    ++steps_;
    if (lost_.is_given_up(readout) || slice.gathering.next->by_readout[readout].empty()) continue;
    if (!is_absent(readout, slice.assignment.order)) return true;
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

void Collector::cancel_expired() {
  std::vector<wire::CopyId> entries;
  for (BuiltSlice* slice : assembler_.take_expired()) {
    entries.push_back({slice->id(), slice->attempt(), {}});
    if (slice->expired_empty && lost_.all().empty()) ++expired_empty_;
    if (slice->gathering.has_begun()) want_nothing(*slice);
  }
  if (entries.empty()) return;
  for (std::uint32_t readout = 0; readout < settings_.readouts; ++readout) {
    Flow& flow = flows_[readout];
    if (!flow.up) continue;
    sends_to(readout);
    if (!flow.requests.empty()) flow.requests.take_frame(flow.frames);
    wire::append_slice_entries(wire::FrameType::cancel, entries, flow.frames);
  }
}

void Collector::sends_to(std::uint32_t readout) {
  if (!std::exchange(flows_[readout].sends, true)) to_send_.push_back(readout);
}

void Collector::take_frames(std::uint32_t readout, std::vector<std::byte>& out) {
  Flow& flow = flows_[readout];
  flow.sends = false;
  if (!flow.requests.empty()) flow.requests.take_frame(flow.frames);
  out.insert(out.end(), flow.frames.begin(), flow.frames.end());
  flow.frames.clear();
}

}  // namespace weir::dcm
