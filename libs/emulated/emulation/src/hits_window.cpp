#include <weir/base/crc32c.hpp>
#include <weir/emulation/hits_window.hpp>

#include <algorithm>

namespace weir::emulation {

const HitsWindowSource::Cell& HitsWindowSource::cell(const source::Trigger& at) {
  const auto known = std::ranges::find(cells_, at.slice, [](const Cell& one) { return one.at.slice; });
  if (known != cells_.end()) return *known;
  if (cells_.size() == kCells) cells_.pop_front();
  const HitsGroup::CellHits hits = group_->produce_cell(id_, run_, at);
  cells_.push_back({at, {hits.bytes.begin(), hits.bytes.end()}, hits.whole});
  return cells_.back();
}

source::SourceFragment HitsWindowSource::produce(const source::Trigger& trigger) {
  const source::TimeWindow window = source::window_of(trigger, windows_);
  const HitsSettings& settings = group_->detector().settings();
  const UtcNs until = std::min(window.end(), window.begin() + kWindowMax);
  hits_.clear();
  bool whole = until == window.end();
  for (source::Trigger at = cell_of(settings, window.begin()); at.time < until;
       at = cell_of(settings, at.time + at.duration)) {
    const Cell& here = cell(at);
    whole = whole && here.whole;
    HitReader reader(here.hits);
    std::size_t before = 0;
    while (const auto hit = reader.next()) {
      const UtcNs time = at.time + hit->time_ns;
      const std::size_t length = reader.offset() - before;
      if (time >= window.begin() && time < until && hits_.size() + length <= kHitsBytesMax) {
        Hit moved = *hit;
        moved.time_ns = static_cast<std::uint32_t>(time - window.begin());
        const std::size_t place = hits_.size();
        hits_.resize(place + length);
        if (moved.waveform.empty()) {
          encode_hit(moved, hits_.data() + place);
        } else {
          (void)encode_waveform_hit(moved, hits_.data() + place);
        }
      } else {
        whole = whole && hits_.size() + length <= kHitsBytesMax;
      }
      before = reader.offset();
    }
  }
  source::Piece piece;
  piece.time = window.begin();
  piece.duration = until - window.begin();
  piece.bytes = hits_;
  const source::Piece* const pieces[] = {&piece};
  const std::uint64_t size = source::encoded_bytes(pieces);
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(size);
  source::encode_pieces(window, pieces, memory.get());
  source::SourceFragment fragment;
  if (!whole) fragment.status = FragmentStatus::truncated;
  fragment.bytes = ConstBytes(memory.get(), size);
  fragment.owner = memory;
  if (group_->checksums()) fragment.crc32c = crc32c(fragment.bytes);
  return fragment;
}

}  // namespace weir::emulation
