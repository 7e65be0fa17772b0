#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/wire/block.hpp>

#include <cstring>

namespace weir::wire {
namespace {

bool is_sound(const BlockRow& row, std::uint32_t word) {
  if (word >> 16 != 0) return false;  // must be zero
  if (row.status != FragmentStatus::missing) return is_sent(row.status) && row.reason == MissingReason::none;
  const auto reason = static_cast<std::uint8_t>(row.reason);
  return reason != 0 && reason < kMissingReasons && row.length == 0 && row.crc == 0;
}

}  // namespace

BlockHead block_head(const FrameHeader& header) { return {header.source.value, header.offset, header.total}; }

void BlockWriter::write_head(Bytes out) const {
  WEIR_ASSERT(row_bytes_ > 0 && out.size() == head_bytes() && slices_.back().rows > 0);
  const Bytes head = out.subspan(kHeaderBytes);
  std::byte* at = head.data();
  for (std::size_t i = 1; i < slices_.size(); ++i, at += kBlockSliceBytes) {
    const Part& part = slices_[i];
    store_le(at, part.slice.slice.value);
    store_le(at + 8, part.slice.attempt.value);
    store_le(at + 10, static_cast<std::uint16_t>(part.rows));
    store_le(at + 12, part.slice.slot);
  }
  std::memcpy(at, rows_.data(), row_bytes_);
  const BlockSlice& first = slices_.front().slice;
  FrameHeader header;
  header.type = FrameType::block;
  header.attempt = first.attempt;
  WEIR_ASSERT(row_bytes_ <= bytes_ && bytes_ <= kBlockPayloadMax);
  header.length = static_cast<std::uint32_t>(bytes_);
  header.slice = first.slice;
  header.source = SourceId(static_cast<std::uint32_t>(size()));
  header.offset = first.slot;
  header.total = static_cast<std::uint32_t>(slices_.size() - 1);
  header.crc = crc32c(head);
  encode_header(header, out.first<kHeaderBytes>());
}

Expected<BlockView, WireError> BlockView::parse(const FrameHeader& header, ConstBytes payload) {
  const auto bad = Unexpected<WireError>(WireError::bad_payload);
  const BlockHead head = block_head(header);
  const std::size_t entry_bytes = kBlockSliceBytes * std::size_t{head.further_slices};
  const std::size_t row_bytes = kBlockRowBytes * std::size_t{head.rows};
  if (header.type != FrameType::block || row_bytes == 0 || entry_bytes + row_bytes > payload.size())
    return bad;
  BlockView view;
  view.entries_ = payload.first(entry_bytes);
  view.rows_ = payload.subspan(entry_bytes, row_bytes);
  view.payloads_ = payload.subspan(entry_bytes + row_bytes);
  if (crc32c(payload.first(entry_bytes + row_bytes)) != header.crc)
    return Unexpected<WireError>(WireError::bad_checksum);
  std::size_t bytes = 0;
  const std::byte* const end = view.rows_.data() + row_bytes;
  for (const std::byte* at = view.rows_.data(); at != end; at += kBlockRowBytes) {
    const auto length = load_le<std::uint32_t>(at + 4);
    const auto word = load_le<std::uint32_t>(at + 12);
    if (length > kBlockFragmentMax) return bad;
    if (word != 0 && !is_sound(load_row(at), word)) return bad;
    bytes += block_bytes(length);
  }
  if (bytes != view.payloads_.size()) return bad;
  std::uint32_t rows = head.rows;
  for (std::size_t at = 0; at < entry_bytes; at += kBlockSliceBytes) {
    const std::uint32_t own = load_entry(view.entries_.data() + at).rows;
    if (own == 0 || own >= rows) return bad;  // at least one is left for the first slice
    rows -= own;
  }
  view.first_ = {{header.slice, header.attempt, head.slot}, rows};
  return view;
}

}  // namespace weir::wire
