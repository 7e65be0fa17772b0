#include "request_cutter.hpp"

#include <weir/wire/block.hpp>
#include <weir/wire/frame.hpp>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;
using assembly::FragmentProgress;
using assembly::Gathering;

// A fragment of up to this many pieces is requested whole, because a short rest costs more than a long piece.
constexpr std::uint64_t kWholePieces = 2;

bool is_awaited(FragmentProgress::State state) {
  using enum FragmentProgress::State;
  return state == requested || state == receiving || state == ahead || state == receiving_ahead;
}

// Selects fragments of later steps, and fragments that are requested again.
bool is_to_be_requested(const FragmentProgress& progress, bool ahead) {
  const auto state = ahead ? FragmentProgress::State::ahead : FragmentProgress::State::requested;
  return progress.state == state && progress.have == 0 && !progress.sent_ahead;
}

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

void RequestCutter::begin_round() {
  piece_bytes_ = std::min(shaper_.piece_bytes(), limits_.piece_bytes_max);
  whole_bytes_ = piece_bytes_ > 0 ? kWholePieces * piece_bytes_ : UINT64_MAX;
  whole_length_ = piece_bytes_ > 0 ? payload_of(whole_bytes_) : limits_.range_bytes;
}

std::optional<RequestCutter::Piece> RequestCutter::cut(BuiltSlice& slice, std::uint32_t readout) {
  Gathering& gathering = slice.gathering;
  const auto first = [&] { return gathering.parts[readout].first_range; };
  const auto is_done = [&](const Gathering::Range& range) {
    return !is_awaited(slice.progress[range.source].state);
  };
  while (first() != Gathering::kNone && is_done(gathering.ranges[first()]))
    gathering.drop_first_range(readout);
  return first() == Gathering::kNone ? next_sources(slice, readout)
                                     : next_of_range(gathering.ranges[first()]);
}

RequestCutter::Piece RequestCutter::next_of_range(const Gathering::Range& range) {
  Piece piece;
  piece.range = true;
  piece.fragments = 1;
  piece.offset = range.offset;
  const std::uint64_t most = piece_bytes_;
  piece.length = range.length > 0 ? range.length : sizes_.of(range.source).bytes();
  if (most > 0 && piece.length + wire::kHeaderBytes > most + most / 2) piece.length = payload_of(most);
  piece.bytes = std::uint64_t{piece.length} + wire::kHeaderBytes;
  sources_.assign(1, assembler_.sources()[range.source].id);
  return piece;
}

// As many whole fragments as fit into a piece or two, or the first piece of a large one.
std::optional<RequestCutter::Piece> RequestCutter::next_sources(BuiltSlice& slice, std::uint32_t readout) {
  Gathering& gathering = slice.gathering;
  const std::vector<SourceId>& all = gathering.selection->by_readout[readout];
  Gathering::Part& part = gathering.parts[readout];
  const auto count = static_cast<std::uint32_t>(all.size());
  const std::uint32_t shaper_max = shaper_.fragments_max();
  const bool in_window = count <= shaper_max;
  Piece piece;
  piece.length = whole_length_;
  const std::uint64_t whole = sizes_.knows_all(readout) ? answer_bytes(count, sizes_.bytes(readout)) : 0;
  const bool untouched = gathering.selection->all && part.next == 0 && part.offset == 0 && !part.again;
  const bool fits = piece_bytes_ == 0 || (sizes_.knows_all(readout) && whole <= whole_bytes_);
  if (untouched && in_window && fits) {
    piece.all = true;
    piece.fragments = count;
    piece.bytes = whole;
    piece.end = count;
    return piece;
  }
  const std::uint64_t most = piece_bytes_;
  std::size_t fragments_max = std::min<std::size_t>(wire::kSetSourcesMax, shaper_max);
  // More than the window would wait until no other readout has a request, and these go on asking.
  if (!strict_ && !in_window) fragments_max = std::max<std::size_t>(1, fragments_max / 2);
  sources_.clear();
  PieceSizes sizes(most > 0);
  const std::uint32_t guess = most > 0 ? sizes_.guess(readout, most) : 0;
  std::uint32_t at = part.next;
  for (; at < all.size(); ++at) {
    const assembly::SourceIndex index = *assembler_.index_of(all[at]);
    const FragmentProgress& progress = slice.progress[index];
    const bool begun = part.offset > 0 && at == part.next;
    if (begun && !is_awaited(progress.state)) continue;
    if (begun) return rest_of(all[at], index, part);
    if (part.again && !is_to_be_requested(progress, gathering.ahead)) continue;
    const bool known = sizes_.of(index).known();
    PieceSizes more = sizes;
    more.add(known ? sizes_.of(index).bytes() : guess, known);
    if (piece.fragments > 0 && more.together() > whole_bytes_) break;
    if (sources_.size() == fragments_max) break;
    sources_.push_back(all[at]);
    sizes = more;
    ++piece.fragments;
    if (sizes.together() > whole_bytes_) {  // one alone, and larger
      piece.bytes = most;
      piece.length = payload_of(most);
      const bool cut = sizes_.of(index).bytes() > piece.length;
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
  if (most > 0 && !sizes.all_known()) piece.length = sizes.longest();
  return piece;
}

// Returns the next range of a fragment, assuming the length of the source's last one. If the fragment is
// longer, the assembler requests the rest.
RequestCutter::Piece RequestCutter::rest_of(SourceId source, assembly::SourceIndex index,
                                            const Gathering::Part& part) {
  const std::uint64_t most = piece_bytes_;
  const std::uint32_t expected = sizes_.of(index).bytes();
  const std::uint32_t rest = expected > part.offset ? expected - part.offset : 1;
  Piece piece;
  piece.fragments = 1;
  piece.offset = part.offset;
  const bool cut = rest + wire::kHeaderBytes > most + most / 2;
  piece.length = cut ? payload_of(most) : rest;
  piece.bytes = std::uint64_t{piece.length} + wire::kHeaderBytes;
  piece.end = cut ? part.next : part.next + 1;
  piece.end_offset = cut ? part.offset + piece.length : 0;
  sources_.assign(1, source);
  return piece;
}

// A fragment requested in ranges before its length is known is requested up to this offset. The expectation
// may have changed since the previous range.
void RequestCutter::note_asked(BuiltSlice& slice, const Piece& piece) {
  const assembly::SourceIndex source = *assembler_.index_of(sources_.front());
  slice.progress[source].asked =
      piece.end_offset > 0 ? sizes_.of(source).bytes() : piece.offset + piece.length;
}

}  // namespace weir::dcm
