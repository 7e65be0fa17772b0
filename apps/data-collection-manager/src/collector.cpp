#include "collector.hpp"

#include <weir/base/assert.hpp>
#include <weir/wire/block.hpp>

#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;
using assembly::Selection;
using assembly::SourceIndex;

// TCP's timeout after a loss is at least two round trips; the retransmission takes another one.
constexpr DurationNs kGapRoundTrips = 6;

// Returns the slice's part at this readout; nullptr: it has requested nothing.
Gathering::Part* part_of(BuiltSlice* slice, std::uint32_t readout) {
  return slice != nullptr && slice->gathering.has_begun() ? &slice->gathering.parts[readout] : nullptr;
}

}  // namespace

Collector::Collector(const CollectorSettings& settings, assembly::Assembler& assembler,
                     assembly::SliceTable& slices, BufferPool& pool, std::unique_ptr<shaping::Shaper> shaper)
    : readouts_(settings.readouts),
      assembler_(assembler),
      slices_(slices),
      shaper_(std::move(shaper)),
      learns_(shaper_->learns()),
      selections_(assembler, readouts_),
      sizes_(assembler.sources(), readouts_),
      memory_gate_(settings.memory_bytes, assembler, slices, pool, sizes_),
      accounts_(readouts_, learns_),
      schedule_(settings.order, settings.first_readout, readouts_, accounts_, sizes_),
      cutter_({settings.assembly.range_bytes, settings.piece_bytes_max}, assembler, sizes_, *shaper_),
      frames_(readouts_),
      absent_(readouts_),
      lost_(readouts_),
      outage_(settings.silence_ns),
      heard_(readouts_) {}

void Collector::collect(BuiltSlice& slice, std::shared_ptr<const Selection> selection) {
  WEIR_ASSERT(slice.state() == BuildState::waiting_for_memory && selection != nullptr);
  lost_.note_work();
  // A wish that is fulfilled needs no memory, and does not wait for any.
  if (slice.step > 0 && assembler_.is_here(slice, *selection)) return want(slice, *selection);
  slice.gathering.next_bytes = memory_gate_.bytes_expected(slice, *selection);
  slice.gathering.next = std::move(selection);
}

// Requests of earlier steps that have not left are not sent any more.
void Collector::want(BuiltSlice& slice, const Selection& selection) {
  if (slice.gathering.has_begun()) schedule_.remove(slice);
  (void)(selection.all ? assembler_.want_all(slice) : assembler_.want(slice, selection.sources));
  if (!slice.early.empty()) assembler_.cancel_unsent(slice);
}

void Collector::forget(BuiltSlice& slice) {
  if (slice.gathering.has_begun()) {
    steps_ += slice.gathering.parts.size();
    accounts_.leave(slice);
    schedule_.remove(slice);
  }
  slice.gathering.end();
}

void Collector::expect_pushed(BuiltSlice& slice, TimeNs now_ns) {
  lost_.note_work();
  assembler_.want_all(slice);
  // Whatever range of a fragment has arrived, the rest is on its way.
  for (FragmentProgress& progress : slice.progress) progress.asked = UINT32_MAX;
  mark_absent(slice, now_ns);
  lose_given_up(slice, now_ns);
}

void Collector::ask_for_rest(BuiltSlice& slice, std::span<const std::uint32_t> readouts) {
  if (slice.state() != BuildState::collecting) return;
  Gathering& gathering = slice.gathering;
  if (!gathering.has_begun()) gathering.begin(readouts_, everything(), slice.id().value);
  std::vector<bool> asked(readouts_);
  for (const std::uint32_t readout : readouts) {
    // Otherwise requested before, or already missing.
    asked[readout] = !gathering.parts[readout].again && !lost_.is_given_up(readout);
    gathering.parts[readout].again = gathering.parts[readout].again || asked[readout];
  }
  for (SourceIndex i = 0; i < slice.progress.size(); ++i) {
    FragmentProgress& progress = slice.progress[i];
    const std::uint32_t readout = assembler_.sources()[i].readout;
    if (!asked[readout]) continue;
    if (progress.state == FragmentProgress::State::receiving) progress.asked = 0;
    if (progress.state != FragmentProgress::State::requested) continue;
    progress.start_again();
    schedule_.add(slice, readout);
  }
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
  gathering.begin(readouts_, std::move(gathering.next), slice.id().value);
  if (has_early) assembler_.requested(slice, now_ns);
  for (const Gathering::Range& range : under_way) {
    const std::uint32_t readout = assembler_.sources()[range.source].readout;
    gathering.add_range(readout, range);
    schedule_.add(slice, readout);
  }
  bool lost = false;
  const AbsentReadouts::Set& absent = absent_.find(slice.assignment.order);
  for (std::uint32_t readout = 0; readout < readouts_; ++readout) {
    ++steps_;
    Gathering::Part& part = gathering.parts[readout];
    part.next = part.offset = 0;
    part.again = slice.step > 0;
    lost = lost || lost_.is_given_up(readout);
    if (selection.by_readout[readout].empty() || lost_.is_given_up(readout)) continue;
    if (!absent.contains(readout)) schedule_.add(slice, readout);
  }
  if (!absent.empty()) assembler_.readouts_lost(slice, absent.readouts, MissingReason::removed, now_ns);
  if (!lost) return;
  assembler_.requested(slice, now_ns);
  lose_given_up(slice, now_ns);
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

void Collector::queue_ranges() {
  for (const assembly::RangeWanted& wanted : assembler_.ranges_wanted()) {
    if (wanted.slice == nullptr) continue;  // released meanwhile
    if (wanted.slice->fetched) wrong_copies_.emplace_back(wanted.slice->id(), wanted.slice->attempt());
    if (!wanted.slice->gathering.has_begun()) continue;
    const std::uint32_t readout = assembler_.sources()[wanted.source].readout;
    wanted.slice->gathering.add_range(readout, {wanted.source, wanted.offset, wanted.length});
    // All pieces of it are under way before the first has arrived.
    if (wanted.length > 0) wanted.slice->progress[wanted.source].asked = wanted.offset + wanted.length;
    schedule_.add(*wanted.slice, readout);
  }
  assembler_.ranges_wanted().clear();
}

void Collector::arrived(std::uint32_t readout, BuiltSlice* slice, std::uint64_t bytes, TimeNs now_ns) {
  if (accounts_.arrived(readout, part_of(slice, readout), bytes) > 0) overdraft_.note_progress(now_ns);
  schedule_.touch(readout);
  if (slice != nullptr) assembly::Assembler::note_bytes(*slice, now_ns);
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
                         const wire::BlockSlice& of, const wire::BlockPart& part) {
  take_answer(
      readout, reception.slice,
      {of.slice, 0, static_cast<std::uint32_t>(part.size()), static_cast<std::uint32_t>(part.bytes())},
      reception.taken);
}

void Collector::take_answer(std::uint32_t readout, BuiltSlice* slice, const PendingRequests::Answer& answer,
                            std::span<const assembly::FragmentSize> sizes) {
  if (accounts_.answered(readout, part_of(slice, readout), answer)) sizes_.learn(readout, sizes);
}

void Collector::pass(TimeNs now_ns) {
  give_up_readouts(now_ns);
  if (learns_) assembler_.set_gap(kGapRoundTrips * shaper_->base_ns());
  assembler_.expire(outage_.is_on() ? deadlines_until(now_ns) : now_ns);
  cancel_expired();
  accounts_.report(*shaper_, now_ns);
  queue_ranges();
  memory_gate_.admit(overdraft_.moved_ns(), now_ns, [&](BuiltSlice& slice) { start(slice, now_ns); });
  issue(now_ns);
  if (!learns_) return;
  shaper_->set_slice_bytes(assembler_.slice_bytes_expected());
  shaper_->end_of_pass(!schedule_.is_empty(), now_ns);
}

void Collector::issue(TimeNs now_ns) {
  schedule_.begin_round();
  cutter_.begin_round();
  // Time does not refill it, if next_ns() is never.
  overdraft_.begin_round(
      !shaper_->strict() && shaper_->outstanding() > 0 && shaper_->next_ns() == shaping::kNever, now_ns);
  while (const auto chosen = schedule_.best()) {
    const std::uint32_t readout = *chosen;
    BuiltSlice& slice = *schedule_.oldest(readout);
    const auto piece = piece_of(slice, readout);
    if (!piece) {
      schedule_.remove(slice, readout);
      schedule_.refresh(readout);
      continue;
    }
    const std::uint64_t outstanding = shaper_->outstanding();
    const shaping::Credit credit = send_run(slice, readout, *piece, now_ns);
    if (credit == shaping::Credit::granted) {
      overdraft_.granted(outstanding);
    } else if (overdraft_.allows(shaper_->outstanding())) {
      send_beyond(slice, readout, now_ns);
    } else if (credit == shaping::Credit::full) {
      return start_deadlines(slice.gathering.ahead ? UINT64_MAX : slice.gathering.order, now_ns);
    } else {
      schedule_.end_turn(readout);
    }
    schedule_.refresh(readout);
  }
  start_deadlines(UINT64_MAX, now_ns);
}

// Asks the readout for this piece, and for further slices at once, so that it answers them together, and the
// choices in between are saved. Only as much as its share of the window, or the others would wait; and
// nothing that would not fit if it were as long as the piece before. Returns the shaper's answer to the first
// piece.
shaping::Credit Collector::send_run(BuiltSlice& first, std::uint32_t readout, RequestCutter::Piece piece,
                                    TimeNs now_ns) {
  const std::uint64_t window = shaper_->window();
  const std::uint64_t share = window == 0 ? UINT64_MAX : window / readouts_;
  const std::uint64_t end = shaper_->outstanding() + std::min(share, UINT64_MAX / 2);
  const std::uint64_t room = shaper_->room(readout);
  const bool has_room = piece.bytes > 0 && piece.bytes <= room;
  const auto try_take = [&] { return shaper_->try_take({readout, piece.fragments, piece.bytes}, now_ns); };
  const shaping::Credit credit = has_room ? shaping::Credit::granted : try_take();
  if (credit != shaping::Credit::granted) return credit;
  shaping::Demand run{readout, piece.fragments, piece.bytes};
  send(first, readout, piece, now_ns);
  const std::uint64_t most = std::min(has_room ? room : UINT64_MAX, std::uint64_t{wire::kSharedBlockMax});
  while (piece.bytes > 0 && run.bytes + piece.bytes <= most) {
    if (has_room ? run.bytes >= share : shaper_->outstanding() >= end) break;
    BuiltSlice* const slice = schedule_.oldest(readout);
    if (slice == nullptr || slice->gathering.ahead) break;
    ++steps_;
    const auto next = piece_of(*slice, readout);
    if (!next) {
      schedule_.remove(*slice, readout);
      continue;
    }
    piece = *next;
    if (piece.bytes == 0 || run.bytes + piece.bytes > most) break;
    if (!has_room && try_take() != shaping::Credit::granted) break;
    run.fragments += piece.fragments;
    run.bytes += piece.bytes;
    send(*slice, readout, piece, now_ns);
  }
  if (has_room) shaper_->take(run, now_ns);
  return shaping::Credit::granted;
}

std::optional<RequestCutter::Piece> Collector::piece_of(BuiltSlice& slice, std::uint32_t readout) {
  const bool collects = slice.state() == BuildState::collecting || slice.gathering.ahead;
  return collects ? cutter_.cut(slice, readout) : std::nullopt;
}

void Collector::send_beyond(BuiltSlice& slice, std::uint32_t readout, TimeNs now_ns) {
  // The readout may not have made the slices that it owes.
  BuiltSlice* to = schedule_.first_unasked(readout);
  auto piece = to != nullptr ? piece_of(*to, readout) : std::nullopt;
  if (!piece) {
    to = &slice;
    piece = piece_of(slice, readout);
  }
  shaper_->take({readout, piece->fragments, piece->bytes}, now_ns);
  send(*to, readout, *piece, now_ns);
}

void Collector::send(BuiltSlice& slice, std::uint32_t readout, const RequestCutter::Piece& piece,
                     TimeNs now_ns) {
  const std::span<const SourceId> sources = cutter_.sources();
  WEIR_ASSERT(piece.all || sources.size() == piece.fragments);
  if (slice.gathering.ahead) {
    for (const SourceId source : sources) slice.progress[*assembler_.index_of(source)].sent_ahead = true;
  } else {
    assembler_.requested(slice, now_ns);
  }
  frames_.request(readout, sources, piece.all,
                  {slice.id(), slice.attempt(), wire::kAllSources, piece.offset, piece.length,
                   static_cast<std::uint32_t>(slice.slot)});
  accounts_.requested(readout, slice.gathering.parts[readout], piece.bytes,
                      {slice.id(), piece.offset, piece.fragments, now_ns, 0});
  overdraft_.note_progress(now_ns);
  if (!cutter_.advance(slice, readout, piece)) schedule_.remove(slice, readout);
}

// A readout that never comes costs one deadline or the grace time.
void Collector::start_deadlines(std::uint64_t order, TimeNs now_ns) {
  schedule_.visit_held_up(order, [&](BuiltSlice& slice) {
    if (slice.state() == BuildState::collecting) assembler_.requested(slice, now_ns);
  });
}

void Collector::cancel_expired() {
  std::vector<wire::CopyId> entries;
  for (BuiltSlice* slice : assembler_.take_expired()) {
    entries.push_back({slice->id(), slice->attempt(), {}});
    if (slice->expired_empty && lost_.all().empty()) ++expired_empty_;
    if (slice->gathering.has_begun()) schedule_.remove(*slice);
  }
  if (entries.empty()) return;
  for (std::uint32_t readout = 0; readout < readouts_; ++readout) {
    if (is_up(readout)) frames_.cancel(readout, entries);
  }
}

}  // namespace weir::dcm
