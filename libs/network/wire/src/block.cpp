#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/wire/block.hpp>

#include <cstring>

namespace weir::wire {
namespace {

bool is_sound(const BlockRow& row, std::uint32_t word) {
  if (word >> 16 != 0) return false;  // must be zero
  if (row.status != FragmentStatus::missing)
    return row.status <= FragmentStatus::suppressed && row.reason == MissingReason::none;
  const auto reason = static_cast<std::uint8_t>(row.reason);
  return reason != 0 && reason < kMissingReasons && row.length == 0 && row.crc == 0;
}

}  // namespace

BlockHead block_head(const FrameHeader& header) { return {header.source.value, header.offset}; }

void BlockWriter::write_head(SliceId slice, Attempt attempt, std::uint32_t slot, Bytes out) const {
  WEIR_ASSERT(!empty() && out.size() == head_bytes());
  const ConstBytes rows = ConstBytes(rows_).first(row_bytes_);
  std::memcpy(out.data() + kHeaderBytes, rows.data(), rows.size());
  FrameHeader header;
  header.type = FrameType::block;
  header.attempt = attempt;
  WEIR_ASSERT(row_bytes_ <= bytes_ && bytes_ <= kBlockPayloadMax);
  header.length = static_cast<std::uint32_t>(bytes_);
  header.slice = slice;
  header.source = SourceId(static_cast<std::uint32_t>(size()));
  header.offset = slot;
  header.crc = crc32c(rows);
  encode_header(header, out.first<kHeaderBytes>());
}

Expected<BlockView, WireError> BlockView::parse(const FrameHeader& header, ConstBytes payload) {
  const auto bad = Unexpected<WireError>(WireError::bad_payload);
  const std::size_t row_bytes = kBlockRowBytes * std::size_t{block_head(header).rows};
  if (header.type != FrameType::block || row_bytes == 0 || row_bytes > payload.size()) return bad;
  BlockView view;
  view.rows_ = payload.first(row_bytes);
  view.payloads_ = payload.subspan(row_bytes);
  if (crc32c(view.rows_) != header.crc) return Unexpected<WireError>(WireError::bad_checksum);
  std::size_t bytes = 0;
  const std::byte* const end = payload.data() + row_bytes;
  for (const std::byte* at = view.rows_.data(); at != end; at += kBlockRowBytes) {
    const auto length = load_le<std::uint32_t>(at + 4);
    const auto word = load_le<std::uint32_t>(at + 12);
    if (length > kBlockFragmentMax) return bad;
    if (word != 0 && !is_sound(load_row(at), word)) return bad;
    bytes += block_bytes(length);
  }
  if (bytes != view.payloads_.size()) return bad;
  return view;
}

}  // namespace weir::wire
