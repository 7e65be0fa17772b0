// Which request goes next: oldest slice first, within it the readout that the order chooses, cut into pieces
// as the shaper likes them.
#include "collector.hpp"

#include <algorithm>

namespace weir::dcm {
namespace {

using assembly::FragmentProgress;
using assembly::Phase;

// What a fragment is cut into: as far as this many pieces it goes whole, for a short rest costs more than a
// long piece.
constexpr std::uint64_t kWholePieces = 2;
constexpr std::size_t kQuestionsMax = 4096;

std::uint64_t whole_up_to(std::uint64_t piece) { return kWholePieces * piece; }

std::uint32_t payload_of(std::uint64_t frame_bytes) {
  const std::uint64_t payload = frame_bytes > wire::kHeaderBytes ? frame_bytes - wire::kHeaderBytes : 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(payload, UINT32_MAX));
}

}  // namespace

void Collector::issue(TimeNs now_ns) {
  for (Flow& flow : flows_) flow.full = false;
  std::size_t kept = 0;
  std::size_t at = 0;
  bool full = false;
  for (; at < queue_.size() && !full; ++at) {
    Gathering& gathering = *queue_[at];
    Issue issued = Issue::done;
    if (gathering.slice->phase == Phase::collecting) issued = ask_for(gathering, now_ns);
    full = issued == Issue::full;
    if (issued == Issue::done) {
      gathering.queued = false;
      continue;
    }
    queue_[kept++] = &gathering;
  }
  // What was not looked at stays, in order.
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(kept),
               queue_.begin() + static_cast<std::ptrdiff_t>(at));
}

Collector::Issue Collector::ask_for(Gathering& gathering, TimeNs now_ns) {
  while (!gathering.wanting.empty()) {
    const auto chosen = choose_readout(gathering);
    if (!chosen) {
      // Its deadline runs all the same: a readout that never comes costs one deadline or the grace time.
      const auto is_down = [&](std::uint32_t readout) { return !flows_[readout].up; };
      if (std::any_of(gathering.wanting.begin(), gathering.wanting.end(), is_down))
        assembler_.requested(*gathering.slice, now_ns);
      return Issue::held;
    }
    const std::uint32_t readout = gathering.wanting[*chosen];
    const auto piece = next_piece(gathering, readout);
    if (!piece) {
      gathering.wanting.erase(gathering.wanting.begin() + static_cast<std::ptrdiff_t>(*chosen));
      continue;
    }
    switch (shaper_->try_take({readout, piece->fragments, piece->bytes}, now_ns)) {
      case shaping::Credit::full:
        return Issue::full;
      case shaping::Credit::readout_full:
        flows_[readout].full = true;
        continue;
      case shaping::Credit::granted:
        break;
    }
    send(gathering, readout, *piece, now_ns);
    const bool more = !gathering.ranges.empty() ||
                      gathering.parts[readout].next < gathering.selection->by_readout[readout].size();
    if (!more) gathering.wanting.erase(gathering.wanting.begin() + static_cast<std::ptrdiff_t>(*chosen));
  }
  return Issue::done;
}

std::optional<std::size_t> Collector::choose_readout(const Gathering& gathering) {
  candidates_.clear();
  for (const std::uint32_t readout : gathering.wanting) {
    const Flow& flow = flows_[readout];
    shaping::Candidate candidate;
    candidate.readout = readout;
    candidate.owed = flow.owed;
    candidate.left = bytes_left(gathering, readout);
    candidate.open = flow.up && !flow.full;
    candidates_.push_back(candidate);
  }
  return shaping::choose(settings_.order, candidates_, settings_.first_readout, settings_.readouts);
}

// About so many: a step's selection is taken for an even part of all sources.
std::uint64_t Collector::bytes_left(const Gathering& gathering, std::uint32_t readout) const {
  const Flow& flow = flows_[readout];
  const std::size_t sources = gathering.selection->by_readout[readout].size();
  const Gathering::Part& part = gathering.parts[readout];
  std::uint64_t left = flow.expected * (sources - part.next) / flow.sources;
  left -= std::min<std::uint64_t>(left, part.offset);
  for (const assembly::RangeWanted& range : gathering.ranges) {
    if (assembler_.sources()[range.source].readout == readout) left += range.length;
  }
  return left;
}

std::vector<assembly::RangeWanted>::iterator Collector::range_of(Gathering& gathering,
                                                                 std::uint32_t readout) const {
  return std::find_if(gathering.ranges.begin(), gathering.ranges.end(), [&](const auto& wanted) {
    return assembler_.sources()[wanted.source].readout == readout;
  });
}

std::optional<Collector::Piece> Collector::next_piece(Gathering& gathering, std::uint32_t readout) {
  const auto range = range_of(gathering, readout);
  if (range == gathering.ranges.end()) return next_sources(gathering, readout);
  Piece piece;
  piece.range = true;
  piece.fragments = 1;
  piece.offset = range->offset;
  const std::uint64_t most = shaper_->piece_bytes();
  const std::uint32_t size = expected_[range->source];
  piece.length = range->length > 0 || size == kUnknownSize ? range->length : size;
  if (most > 0 && piece.length + wire::kHeaderBytes > most + most / 2) piece.length = payload_of(most);
  piece.bytes = std::uint64_t{piece.length} + wire::kHeaderBytes;
  asked_sources_.assign(1, assembler_.sources()[range->source].id);
  return piece;
}

// As many whole fragments as fit into a piece or two, or the first piece of a large one.
std::optional<Collector::Piece> Collector::next_sources(Gathering& gathering, std::uint32_t readout) {
  const std::vector<SourceId>& sources = gathering.selection->by_readout[readout];
  Gathering::Part& part = gathering.parts[readout];
  const Flow& flow = flows_[readout];
  const std::uint64_t most = shaper_->piece_bytes();
  Piece piece;
  piece.length = settings_.assembly.range_bytes;
  const bool untouched = gathering.selection->all && part.next == 0 && part.offset == 0 && !part.again;
  if (untouched && (most == 0 || (flow.unknown == 0 && flow.expected <= whole_up_to(most)))) {
    piece.all = true;
    piece.fragments = static_cast<std::uint32_t>(sources.size());
    piece.bytes = flow.unknown == 0 ? flow.expected : 0;
    piece.end = static_cast<std::uint32_t>(sources.size());
    if (most > 0) piece.length = payload_of(whole_up_to(most));
    return piece;
  }
  asked_sources_.clear();
  bool all_known = true;
  std::uint32_t at = part.next;
  for (; at < sources.size(); ++at) {
    const assembly::SourceIndex index = *assembler_.index_of(sources[at]);
    const FragmentProgress& progress = gathering.slice->progress[index];
    const bool begun = part.offset > 0 && at == part.next;
    if (begun && progress.state == FragmentProgress::State::done) continue;
    if (begun) return rest_of(sources[at], index, part, most);
    if (part.again && (progress.state != FragmentProgress::State::requested || progress.have > 0)) continue;
    const bool known = expected_[index] != kUnknownSize;
    const std::uint64_t size = known ? std::uint64_t{expected_[index]} + wire::kHeaderBytes : most;
    if (most > 0 && piece.fragments > 0 && piece.bytes + size > whole_up_to(most)) break;
    asked_sources_.push_back(sources[at]);
    all_known = all_known && known;
    ++piece.fragments;
    piece.bytes += size;
    if (most > 0 && piece.bytes > whole_up_to(most)) {  // one alone, and larger
      piece.bytes = most;
      piece.length = payload_of(most);
      const bool more = expected_[index] > piece.length;
      piece.end = more ? at : at + 1;
      piece.end_offset = more ? piece.length : 0;
      return piece;
    }
  }
  piece.end = at;
  if (piece.fragments == 0) {  // an earlier step brought them all
    part.next = at;
    return std::nullopt;
  }
  if (most > 0) piece.length = payload_of(all_known ? whole_up_to(most) : most);
  return piece;
}

// The next range of a fragment whose length is taken to be that of the last one. When it is longer, the
// assembler asks for what is missing.
Collector::Piece Collector::rest_of(SourceId source, assembly::SourceIndex index, const Gathering::Part& part,
                                    std::uint64_t most) {
  const std::uint32_t rest = expected_[index] > part.offset ? expected_[index] - part.offset : 1;
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

void Collector::send(Gathering& gathering, std::uint32_t readout, const Piece& piece, TimeNs now_ns) {
  assembly::Slice& slice = *gathering.slice;
  Flow& flow = flows_[readout];
  Gathering::Part& part = gathering.parts[readout];
  assembler_.requested(slice, now_ns);
  add_entry(flow, asked_sources_, piece.all,
            {slice.id(), slice.attempt(), wire::kAllSources, piece.offset, piece.length});
  if (piece.range) {
    gathering.ranges.erase(range_of(gathering, readout));
  } else {
    note_asked(slice, piece);
    part.next = piece.end;
    part.offset = piece.end_offset;
  }
  if (shaper_->learns()) {
    if (flow.questions.size() >= kQuestionsMax) flow.questions.pop_front();
    flow.questions.push_back({slice.id(), piece.offset, piece.fragments, piece.bytes, now_ns});
  }
  if (flow.unanswered == 0) flow.waiting_since_ns = now_ns;
  flow.unanswered += piece.fragments;
  flow.owed += piece.bytes;
  part.owed_fragments += piece.fragments;
  part.owed_bytes += piece.bytes;
}

// A fragment that is asked for in ranges before it is known how long it is will be asked for up to here. What
// is expected may have changed since the range before.
void Collector::note_asked(assembly::Slice& slice, const Piece& piece) {
  if (piece.offset == 0 && piece.end_offset == 0) return;
  const assembly::SourceIndex source = *assembler_.index_of(asked_sources_.front());
  slice.progress[source].asked = piece.end_offset > 0 ? expected_[source] : piece.offset + piece.length;
}

void Collector::add_entry(Flow& flow, std::span<const SourceId> sources, bool all,
                          const wire::RequestEntry& entry) {
  if (flow.requests.full()) flow.requests.take_frame(flow.frames);
  wire::RequestEntry added = entry;
  if (!all) added.source_set = flow.requests.add_set(sources);
  flow.requests.add(added);
}

}  // namespace weir::dcm
