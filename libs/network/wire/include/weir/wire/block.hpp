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

// The frame with several fragments of one slice from one readout (FORMAT.md, "block"): rows that describe
// them, followed by the payloads in the same order. Every fragment in it is whole, or marked as missing. Long
// fragments and ranges are sent in fragment frames.
namespace weir::wire {

constexpr std::size_t kBlockRowBytes = 16;
// A payload begins at a multiple of this from the block's start; the bytes in between are zero.
constexpr std::size_t kBlockAlignment = 8;
// Limit for the rows and payloads of one frame: small enough to be received as a whole before it is
// processed.
constexpr std::uint32_t kBlockPayloadMax = 64 * 1024;
// For longer fragments, the bytes saved in a block are not worth the waiting.
constexpr std::uint32_t kBlockFragmentMax = 16 * 1024;

// Returns the length of a payload in a block, padding included.
[[nodiscard]] constexpr std::size_t block_bytes(std::size_t length) {
  return (length + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

// Returns the expected length of a fragment on the wire, in a block or in a frame of its own; a block's
// header is not included.
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

// The contents of a block's header besides slice and attempt.
struct BlockHead {
  std::uint32_t rows = 0;
  std::uint32_t slot = 0;  // from the request that it answers
};
[[nodiscard]] BlockHead block_head(const FrameHeader& header);

// Reads a row from a block.
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

// Builds a block row by row. Does not allocate when reused.
class BlockWriter {
 public:
  BlockWriter() : rows_(kBlockPayloadMax) {}

  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  [[nodiscard]] std::size_t size() const { return row_bytes_ / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const { return load_row(&rows_[kBlockRowBytes * index]); }
  // Returns whether there is room for a fragment of this length, and whether it is short enough for a block.
  [[nodiscard]] bool takes(std::size_t length) const {
    return length <= kBlockFragmentMax && bytes_ + kBlockRowBytes + block_bytes(length) <= kBlockPayloadMax;
  }
  // Requires: takes() returned true.
  void add(const BlockRow& row) {
    bytes_ += kBlockRowBytes + block_bytes(row.length);
    WEIR_ASSERT(bytes_ <= kBlockPayloadMax);
    store_row(row, &rows_[row_bytes_]);
    row_bytes_ += kBlockRowBytes;
  }
  // Returns the length of header and rows; the payloads, each with its padding, follow.
  [[nodiscard]] std::size_t head_bytes() const { return kHeaderBytes + row_bytes_; }
  // Returns the length of the whole frame.
  [[nodiscard]] std::size_t frame_bytes() const { return kHeaderBytes + bytes_; }
  // Writes header and rows into head_bytes() bytes. Requires: not empty.
  void write_head(SliceId slice, Attempt attempt, std::uint32_t slot, Bytes out) const;
  void clear() { row_bytes_ = bytes_ = 0; }

 private:
  std::vector<std::byte> rows_;
  std::size_t row_bytes_ = 0;
  std::size_t bytes_ = 0;  // rows and payloads
};

// A received block, checked as a whole before its first row is used. Refers to the payload.
class BlockView {
 public:
  [[nodiscard]] static Expected<BlockView, WireError> parse(const FrameHeader& header, ConstBytes payload);

  [[nodiscard]] std::size_t size() const { return rows_.size() / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const {
    return load_row(rows_.data() + kBlockRowBytes * index);
  }
  // Returns all payloads in sequence: each begins after the block_bytes() of the previous ones.
  [[nodiscard]] ConstBytes payloads() const { return payloads_; }

 private:
  ConstBytes rows_;
  ConstBytes payloads_;
};

}  // namespace weir::wire
