#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/wire/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

// The frame that carries several fragments of one slice from one readout (FORMAT.md, "block"): rows that say
// what each of them is, and the payloads behind them in the same order. Every fragment in it is whole, or is
// said to be missing. What is long, or a range, travels in a fragment frame.
namespace weir::wire {

constexpr std::size_t kBlockRowBytes = 16;
// A payload begins at a multiple of this from the block's first one; the bytes between are zero.
constexpr std::size_t kBlockAlignment = 8;
// Rows and payloads of one frame: small enough to be received whole before anything is done with it.
constexpr std::uint32_t kBlockPayloadMax = 64 * 1024;
// What a longer fragment saves in a block is not worth being held up in it.
constexpr std::uint32_t kBlockFragmentMax = 16 * 1024;

// Of a payload in a block, what follows it included.
[[nodiscard]] constexpr std::size_t block_bytes(std::size_t length) {
  return (length + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

// What a fragment of this length is expected to take on the wire, in a block or in a frame of its own; the
// block's header comes on top.
[[nodiscard]] constexpr std::uint64_t fragment_wire_bytes(std::uint32_t length) {
  return length <= kBlockFragmentMax ? kBlockRowBytes + block_bytes(length)
                                     : kHeaderBytes + std::uint64_t{length};
}

struct BlockRow {
  SourceId source;
  std::uint32_t length = 0;  // bytes of the payload
  std::uint32_t crc = 0;     // CRC32C of the payload; 0 without checksums, and when missing
  FragmentStatus status = FragmentStatus::ok;
  MissingReason reason = MissingReason::none;  // when missing
  bool operator==(const BlockRow&) const = default;
};

// What a block's header says besides slice and attempt.
struct BlockHead {
  std::uint32_t rows = 0;
  std::uint32_t slot = 0;  // as the request that it answers said
};
[[nodiscard]] BlockHead block_head(const FrameHeader& header);

// A row as it stands in a block.
inline BlockRow load_row(const std::byte* at) {
  return {SourceId(load_le<std::uint32_t>(at)), load_le<std::uint32_t>(at + 4),
          load_le<std::uint32_t>(at + 8), static_cast<FragmentStatus>(load_le<std::uint8_t>(at + 12)),
          static_cast<MissingReason>(load_le<std::uint8_t>(at + 13))};
}
inline void store_row(const BlockRow& row, std::byte* at) {
  store_le(at, row.source.value);
  store_le(at + 4, row.length);
  store_le(at + 8, row.crc);
  store_le(at + 12, static_cast<std::uint32_t>(row.status) | static_cast<std::uint32_t>(row.reason) << 8);
}

// Puts a block together, row by row. Reused, it does not allocate.
class BlockWriter {
 public:
  BlockWriter() : rows_(kBlockPayloadMax) {}

  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] std::size_t size() const { return row_bytes_ / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const { return load_row(&rows_[kBlockRowBytes * index]); }
  // Whether a fragment of this length has room, and is short enough for a block.
  [[nodiscard]] bool takes(std::size_t length) const {
    return length <= kBlockFragmentMax && bytes_ + kBlockRowBytes + block_bytes(length) <= kBlockPayloadMax;
  }
  // After takes().
  void add(const BlockRow& row) {
    bytes_ += kBlockRowBytes + block_bytes(row.length);
    WEIR_ASSERT(bytes_ <= kBlockPayloadMax);
    store_row(row, &rows_[row_bytes_]);
    row_bytes_ += kBlockRowBytes;
  }
  // Of header and rows; the payloads, each with its zeros, follow.
  [[nodiscard]] std::size_t head_bytes() const { return kHeaderBytes + row_bytes_; }
  // Of the whole frame.
  [[nodiscard]] std::size_t frame_bytes() const { return kHeaderBytes + bytes_; }
  // Writes header and rows into head_bytes() bytes. Not when empty.
  void write_head(SliceId slice, Attempt attempt, std::uint32_t slot, Bytes out) const;
  void clear() { row_bytes_ = bytes_ = 0; }

 private:
  std::vector<std::byte> rows_;
  std::size_t row_bytes_ = 0;
  std::size_t bytes_ = 0;  // rows and payloads
};

// A received block, checked whole before the first row is looked at. Refers to the payload.
class BlockView {
 public:
  [[nodiscard]] static Expected<BlockView, WireError> parse(const FrameHeader& header, ConstBytes payload);

  [[nodiscard]] std::size_t size() const { return rows_.size() / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const {
    return load_row(rows_.data() + kBlockRowBytes * index);
  }
  // All of them as they lie behind each other: a row's begins where block_bytes() of the rows before it end.
  [[nodiscard]] ConstBytes payloads() const { return payloads_; }

 private:
  ConstBytes rows_;
  ConstBytes payloads_;
};

}  // namespace weir::wire
