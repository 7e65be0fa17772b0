// Choice of the next request: oldest slice first, within it the readout that the order chooses, cut into
// pieces for the shaper. The cost of a request is independent of other requests, except for the logarithm of
// the number of readouts.
#include "collector.hpp"
#include <weir/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;

// A fragment of up to this many pieces is requested whole, because a short rest costs more than a long piece.
constexpr std::uint64_t kWholePieces = 2;
// After this long without progress a request may exceed a full window; after the next standstills 2, 4, 8,
// ... may, one at a time, until the window has room again. Otherwise a deadlock is possible: a window full of
// requests for slices that readouts cannot make yet, because their buffers are full of slices that wait for
// the window.
constexpr DurationNs kStandstill = 500 * kMillisecond;
constexpr std::uint64_t kOverdraftMax = 1U << 20;

// Puts requests ahead behind all requests that steps wait for, in the order of a readout's turns.
constexpr std::uint64_t kAheadOrder = std::uint64_t{1} << 63;

bool is_awaited(FragmentProgress::State state) {
  using enum FragmentProgress::State;
  return state == requested || state == receiving || state == ahead || state == receiving_ahead;
}

// Selects fragments of later steps, and fragments that are requested again.
bool is_to_be_requested(const FragmentProgress& progress, bool ahead) {
  const auto state = ahead ? FragmentProgress::State::ahead : FragmentProgress::State::requested;
  return progress.state == state && progress.have == 0 && !progress.sent_ahead;
}

std::uint64_t whole_up_to(std::uint64_t piece) { return kWholePieces * piece; }

std::uint32_t payload_of(std::uint64_t frame_bytes) {
  const std::uint64_t payload = frame_bytes > wire::kHeaderBytes ? frame_bytes - wire::kHeaderBytes : 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(payload, UINT32_MAX));
}

// Returns the bytes of an answer with this many fragments: with a block's header in addition, unless a single
// fragment has its own frame.
std::uint64_t answer_bytes(std::uint32_t fragments, std::uint64_t bytes) {
  const bool is_long = bytes > wire::kBlockRowBytes + wire::kBlockFragmentMax;  // counted with its header
  if (fragments == 1) return is_long ? bytes : bytes - wire::kBlockRowBytes + wire::kHeaderBytes;
  return bytes + wire::kHeaderBytes;
}

// Smallest limit on the bytes requested of a source of unknown size.
constexpr std::uint32_t kGuessMin = 16;

// The fragments of a request that is put together. Its one length limit applies to each of them: all of
// unknown size may be as long as the longest.
class PieceSizes {
 public:
  // `bounded`: the shaper limits the bytes of a request; otherwise unknown fragments are not charged.
  explicit PieceSizes(bool bounded) : bounded_(bounded) {}
  void add(std::uint32_t bytes, bool known) {
    longest_ = std::max(longest_, bytes);
    ++(known ? known_ : unknown_);
    if (known) known_bytes_ += wire::fragment_wire_bytes(bytes);
  }
  [[nodiscard]] bool all_known() const { return unknown_ == 0; }
  [[nodiscard]] std::uint32_t longest() const { return longest_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return known_bytes_ + (bounded_ ? unknown_ * unknown_bytes() : 0);
  }
  // Returns the bytes that may come of each one of unknown size: cut, it has a frame of its own.
  [[nodiscard]] std::uint64_t unknown_bytes() const { return wire::kHeaderBytes + std::uint64_t{longest_}; }
  // Returns the bytes of the whole answer.
  [[nodiscard]] std::uint64_t together() const {
    const std::uint32_t fragments = known_ + unknown_;
    return answer_bytes(fragments, std::max<std::uint64_t>(bytes(), fragments * wire::kBlockRowBytes));
  }

 private:
  bool bounded_;
  std::uint32_t longest_ = 0;
  std::uint64_t known_bytes_ = 0;
  std::uint32_t known_ = 0;
  std::uint32_t unknown_ = 0;
};

}  // namespace

void Collector::touch_first(std::uint32_t readout) {
  if (oldest_want(readout) == nullptr && !choice_.holds(readout)) return;
  flows_[readout].touched = true;
  touched_.push_back(readout);
}

void Collector::refresh(std::uint32_t readout) {
  ++steps_;
  const Flow& flow = flows_[readout];
  const BuiltSlice* oldest = oldest_want(readout);
  if (oldest == nullptr || !flow.up || flow.full) return choice_.remove(readout);
  const std::uint64_t last = oldest->gathering.ahead ? kAheadOrder : 0;
  choice_.set(readout, {oldest->gathering.order | last, flow.owed, bytes_left(oldest->gathering, readout)});
}

void Collector::issue(TimeNs now_ns) {
  for (const std::uint32_t readout : std::exchange(full_, {})) {
    flows_[readout].full = false;
    touch(readout);
  }
  for (const std::uint32_t readout : touched_) {
    flows_[readout].touched = false;
    refresh(readout);
  }
  touched_.clear();
  bool stands_still = !strict_ && shaper_->outstanding() > 0 && now_ns - moved_ns_ >= kStandstill &&
                      shaper_->next_ns() == shaping::kNever;  // time does not refill it
  while (const auto chosen = choice_.best()) {
    ++steps_;
    const std::uint32_t readout = *chosen;
    BuiltSlice& slice = *oldest_want(readout);
    auto piece = piece_of(slice, readout);
    if (!piece) {
      wants_of(slice).remove(slice, readout);
      refresh(readout);
      continue;
    }
    // A short request may fit beside all that is stuck; only the answer to a stuck one makes room.
    const bool some_answered = shaper_->outstanding() < stuck_bytes_;
    const shaping::Credit credit = shaper_->try_take({readout, piece->fragments, piece->bytes}, now_ns);
    if (credit == shaping::Credit::granted) {
      if (some_answered) overdraft_ = overdraft_left_ = 0;
    } else if (std::exchange(stands_still, false)) {
      stuck_bytes_ = shaper_->outstanding();
      overdraft_left_ = overdraft_ = std::clamp<std::uint64_t>(2 * overdraft_, 1, kOverdraftMax);
    }
    if (credit != shaping::Credit::granted && overdraft_left_ > 0 && shaper_->outstanding() <= stuck_bytes_) {
      --overdraft_left_;
      ++overdrawn_;
      // The readout may not have made the slices that it owes.
      BuiltSlice* const unasked = first_unasked(readout);
      const auto other = unasked != nullptr ? piece_of(*unasked, readout) : std::nullopt;
      if (!other) piece = piece_of(slice, readout);  // the look at the other one changed asked_sources_
      const Piece& beyond = other ? *other : *piece;
      shaper_->take({readout, beyond.fragments, beyond.bytes}, now_ns);
      send(other ? *unasked : slice, readout, beyond, now_ns);
      refresh(readout);
      continue;
    }
    if (credit == shaping::Credit::full)
      return start_deadlines(slice.gathering.ahead ? UINT64_MAX : slice.gathering.order, now_ns);
    if (credit == shaping::Credit::readout_full) {
      flows_[readout].full = true;
      full_.push_back(readout);
    } else {
      send(slice, readout, *piece, now_ns);
    }
    refresh(readout);
  }
  start_deadlines(UINT64_MAX, now_ns);
}

std::optional<Collector::Piece> Collector::piece_of(BuiltSlice& slice, std::uint32_t readout) {
  const bool collects = slice.state() == BuildState::collecting || slice.gathering.ahead;
  return collects ? next_piece(slice, readout) : std::nullopt;
}

BuiltSlice* Collector::first_unasked(std::uint32_t readout) {
  BuiltSlice* slice = wants_.oldest(readout);
  while (slice != nullptr && slice->gathering.parts[readout].owed_fragments > 0) {
    ++steps_;
    slice = slice->gathering.parts[readout].newer;
  }
  return slice;
}

// A readout that never comes costs one deadline or the grace time.
void Collector::start_deadlines(std::uint64_t order, TimeNs now_ns) {
  for (const std::uint32_t readout : down_) {
    wants_.look_at_new(readout, order, [&](BuiltSlice& slice) {
      ++steps_;
      if (slice.state() == BuildState::collecting) assembler_.requested(slice, now_ns);
    });
  }
}

// About so many: a step's selection is taken for an even part of all sources.
std::uint64_t Collector::bytes_left(const Gathering& gathering, std::uint32_t readout) const {
  const Flow& flow = flows_[readout];
  const std::size_t sources = gathering.selection->by_readout[readout].size();
  const Gathering::Part& part = gathering.parts[readout];
  const std::size_t rest = sources - part.next;
  std::uint64_t left = rest == flow.sources ? flow.expected : flow.expected * rest / flow.sources;
  left -= std::min<std::uint64_t>(left, part.offset);
  return left + part.range_bytes;
}

std::optional<Collector::Piece> Collector::next_piece(BuiltSlice& slice, std::uint32_t readout) {
  Gathering& gathering = slice.gathering;
  const auto first = [&] { return gathering.parts[readout].first_range; };
  const auto is_done = [&](const Gathering::Range& range) {
    return !is_awaited(slice.progress[range.source].state);
  };
  while (first() != Gathering::kNone && is_done(gathering.ranges[first()]))
    gathering.drop_first_range(readout);
  if (first() == Gathering::kNone) return next_sources(slice, readout);
  const Gathering::Range* const range = &gathering.ranges[first()];
  Piece piece;
  piece.range = true;
  piece.fragments = 1;
  piece.offset = range->offset;
  const std::uint64_t most = std::min(shaper_->piece_bytes(), settings_.piece_bytes_max);
  piece.length = range->length > 0 ? range->length : expected_[range->source].bytes();
  if (most > 0 && piece.length + wire::kHeaderBytes > most + most / 2) piece.length = payload_of(most);
  piece.bytes = std::uint64_t{piece.length} + wire::kHeaderBytes;
  asked_sources_.assign(1, assembler_.sources()[range->source].id);
  return piece;
}

// As many whole fragments as fit into a piece or two, or the first piece of a large one.
std::optional<Collector::Piece> Collector::next_sources(BuiltSlice& slice, std::uint32_t readout) {
  Gathering& gathering = slice.gathering;
  const std::vector<SourceId>& sources = gathering.selection->by_readout[readout];
  Gathering::Part& part = gathering.parts[readout];
  const Flow& flow = flows_[readout];
  const std::uint64_t most = std::min(shaper_->piece_bytes(), settings_.piece_bytes_max);
  const auto count = static_cast<std::uint32_t>(sources.size());
  const bool in_window = count <= shaper_->fragments_max();
  std::size_t fragments_max = std::min<std::size_t>(wire::kSetSourcesMax, shaper_->fragments_max());
  // More than the window would wait until no other readout has a request, and these go on asking.
  if (!strict_ && !in_window) fragments_max = std::max<std::size_t>(1, fragments_max / 2);
  Piece piece;
  piece.length = settings_.assembly.range_bytes;
  const std::uint64_t whole = flow.unknown == 0 ? answer_bytes(count, flow.expected) : 0;
  const bool untouched = gathering.selection->all && part.next == 0 && part.offset == 0 && !part.again;
  if (untouched && in_window && (most == 0 || (flow.unknown == 0 && whole <= whole_up_to(most)))) {
    piece.all = true;
    piece.fragments = count;
    piece.bytes = whole;
    piece.end = count;
    if (most > 0) piece.length = payload_of(whole_up_to(most));
    return piece;
  }
  asked_sources_.clear();
  PieceSizes sizes(most > 0);
  const std::uint32_t guess = most > 0 ? guess_of(readout, most) : 0;
  std::uint32_t at = part.next;
  for (; at < sources.size(); ++at) {
    const assembly::SourceIndex index = *assembler_.index_of(sources[at]);
    const FragmentProgress& progress = slice.progress[index];
    const bool begun = part.offset > 0 && at == part.next;
    if (begun && !is_awaited(progress.state)) continue;
    if (begun) return rest_of(sources[at], index, part, most);
    if (part.again && !is_to_be_requested(progress, gathering.ahead)) continue;
    const bool known = expected_[index].known();
    PieceSizes more = sizes;
    more.add(known ? expected_[index].bytes() : guess, known);
    if (most > 0 && piece.fragments > 0 && more.together() > whole_up_to(most)) break;
    if (asked_sources_.size() == fragments_max) break;
    asked_sources_.push_back(sources[at]);
    sizes = more;
    ++piece.fragments;
    if (most > 0 && sizes.together() > whole_up_to(most)) {  // one alone, and larger
      piece.bytes = most;
      piece.length = payload_of(most);
      const bool cut = expected_[index].bytes() > piece.length;
      piece.end = cut ? at : at + 1;
      piece.end_offset = cut ? piece.length : 0;
      return piece;
    }
  }
  piece.end = at;
  if (piece.fragments == 0) {  // an earlier step brought them all
    part.next = at;
    return std::nullopt;
  }
  piece.bytes = sizes.all_known() ? sizes.together() : sizes.bytes();
  if (most > 0) piece.length = sizes.all_known() ? payload_of(whole_up_to(most)) : sizes.longest();
  return piece;
}

// Returns the most bytes that are requested of a source of unknown size.
std::uint32_t Collector::guess_of(std::uint32_t readout, std::uint64_t most) {
  Flow& flow = flows_[readout];
  if (flow.guess == 0) flow.guess = payload_of(most);
  return std::min(flow.guess, payload_of(most));
}

// Assumes that a readout's sources are alike: an answer with short fragments, or without any, halves the
// guess, and a longer fragment raises it. Requests thus cover more sources while their sizes are unknown, and
// an answer is never longer than planned.
void Collector::learn_guess(Flow& flow, std::span<const assembly::FragmentSize> sizes) {
  std::uint32_t longest = kGuessMin;
  for (const assembly::FragmentSize& size : sizes) longest = std::max(longest, size.bytes);
  flow.guess = std::max(longest, flow.guess / 2);
}

// Returns the next range of a fragment, assuming the length of the source's last one. If the fragment is
// longer, the assembler requests the rest.
Collector::Piece Collector::rest_of(SourceId source, assembly::SourceIndex index, const Gathering::Part& part,
                                    std::uint64_t most) {
  const std::uint32_t expected = expected_[index].bytes();
  const std::uint32_t rest = expected > part.offset ? expected - part.offset : 1;
  Piece piece;
  piece.fragments = 1;
  piece.offset = part.offset;
  const bool cut = rest + wire::kHeaderBytes > most + most / 2;
  piece.length = cut ? payload_of(most) : rest;
  piece.bytes = std::uint64_t{piece.length} + wire::kHeaderBytes;
  piece.end = cut ? part.next : part.next + 1;
  piece.end_offset = cut ? part.offset + piece.length : 0;
  asked_sources_.assign(1, source);
  return piece;
}

void Collector::send(BuiltSlice& slice, std::uint32_t readout, const Piece& piece, TimeNs now_ns) {
  Gathering& gathering = slice.gathering;
  Flow& flow = flows_[readout];
  Gathering::Part& part = gathering.parts[readout];
  WEIR_ASSERT(piece.all || asked_sources_.size() == piece.fragments);
  if (gathering.ahead) {
    for (const SourceId source : asked_sources_)
      slice.progress[*assembler_.index_of(source)].sent_ahead = true;
  } else {
    assembler_.requested(slice, now_ns);
  }
  add_entry(readout, asked_sources_, piece.all,
            {slice.id(), slice.attempt(), wire::kAllSources, piece.offset, piece.length,
             static_cast<std::uint32_t>(slice.slot)});
  if (piece.range) {
    gathering.take_from_first_range(readout, piece.length);
  } else {
    note_asked(slice, piece);
    part.next = piece.end;
    part.offset = piece.end_offset;
  }
  if (learns_) flow.pending.ask({slice.id(), piece.offset, piece.fragments, now_ns, flow.owed, 0});
  moved_ns_ = now_ns;
  flow.owed += piece.bytes;
  part.owed_fragments += piece.fragments;
  part.owed_bytes += piece.bytes;
  const bool more =
      part.first_range != Gathering::kNone || part.next < gathering.selection->by_readout[readout].size();
  if (!more) wants_of(slice).remove(slice, readout);
}

// A fragment requested in ranges before its length is known is requested up to this offset. The expectation
// may have changed since the previous range.
void Collector::note_asked(BuiltSlice& slice, const Piece& piece) {
  if (piece.offset == 0 && piece.end_offset == 0) return;
  const assembly::SourceIndex source = *assembler_.index_of(asked_sources_.front());
  slice.progress[source].asked =
      piece.end_offset > 0 ? expected_[source].bytes() : piece.offset + piece.length;
}

void Collector::add_entry(std::uint32_t readout, std::span<const SourceId> sources, bool all,
                          const wire::RequestEntry& entry) {
  Flow& flow = flows_[readout];
  sends_to(readout);
  if (flow.requests.full()) flow.requests.take_frame(flow.frames);
  wire::RequestEntry added = entry;
  if (!all) added.source_set = flow.requests.add_set(sources);
  flow.requests.add(added);
}

}  // namespace weir::dcm
