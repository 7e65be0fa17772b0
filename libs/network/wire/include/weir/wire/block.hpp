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

// The frame with fragments of one or several slices from one readout (FORMAT.md, "block"): rows that describe
// them, followed by the payloads in the same order. Every fragment in it is whole, or marked as missing. Long
// fragments and ranges are sent in fragment frames.
namespace weir::wire {

constexpr std::size_t kBlockRowBytes = 16;
// The entry of each slice after the first one.
constexpr std::size_t kBlockSliceBytes = 16;
// A payload begins at a multiple of this from the block's start; the bytes in between are zero.
constexpr std::size_t kBlockAlignment = 8;
// Limit for the rows and payloads of one frame: small enough to be received as a whole before it is
// processed.
constexpr std::uint32_t kBlockPayloadMax = 64 * 1024;
// For longer fragments, the bytes saved in a block are not worth the waiting.
constexpr std::uint32_t kBlockFragmentMax = 16 * 1024;
// Limit for a block that several slices share, and for the requests to a readout that a DCM sends in a row:
// in longer blocks slices gain little, and the DCM's window would wait for the end of the block.
constexpr std::uint32_t kSharedBlockMax = 16 * 1024;

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

// The contents of a block's header besides the first slice and its attempt.
struct BlockHead {
  std::uint32_t rows = 0;            // of all slices
  std::uint32_t slot = 0;            // of the first slice, from the request that it answers
  std::uint32_t further_slices = 0;  // after the first
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

// One slice of a block.
struct BlockSlice {
  SliceId slice;
  Attempt attempt;
  std::uint32_t slot = 0;  // from the request that it answers
  bool operator==(const BlockSlice&) const = default;
};

// Builds a block slice by slice and row by row. Does not allocate when reused.
class BlockWriter {
 public:
  BlockWriter() : rows_(kBlockPayloadMax) {}

  [[nodiscard]] bool empty() const { return bytes_ == 0; }
  // Returns the number of rows.
  [[nodiscard]] std::size_t size() const { return row_bytes_ / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const { return load_row(&rows_[kBlockRowBytes * index]); }
  // Returns whether there is room for another fragment of the last slice of this length, and whether it is
  // short enough for a block.
  [[nodiscard]] bool takes(std::size_t length) const {
    return length <= kBlockFragmentMax && bytes_ + kBlockRowBytes + block_bytes(length) <= kBlockPayloadMax;
  }
  // Returns the length of rows, entries and payloads so far.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Rows from here on belong to this slice. Requires: the slice before has a row; takes() returned true for a
  // payload that is longer by kBlockSliceBytes than that of the next row.
  void begin(const BlockSlice& slice) {
    WEIR_ASSERT(slices_.empty() || slices_.back().rows > 0);
    if (!slices_.empty()) bytes_ += kBlockSliceBytes;
    slices_.push_back({slice, 0});
  }
  // Requires: takes() returned true.
  void add(const BlockRow& row) {
    bytes_ += kBlockRowBytes + block_bytes(row.length);
    WEIR_ASSERT(bytes_ <= kBlockPayloadMax && !slices_.empty());
    ++slices_.back().rows;
    store_row(row, &rows_[row_bytes_]);
    row_bytes_ += kBlockRowBytes;
  }
  // Requires: not empty.
  [[nodiscard]] const BlockSlice& last_slice() const { return slices_.back().slice; }
  // Returns the length of header, entries and rows; the payloads, each with its padding, follow.
  [[nodiscard]] std::size_t head_bytes() const {
    return kHeaderBytes + row_bytes_ + (slices_.size() - 1) * kBlockSliceBytes;
  }
  // Returns the length of the whole frame.
  [[nodiscard]] std::size_t frame_bytes() const { return kHeaderBytes + bytes_; }
  // Writes header, entries and rows into head_bytes() bytes. Requires: not empty.
  void write_head(Bytes out) const;
  void clear() {
    row_bytes_ = bytes_ = 0;
    slices_.clear();
  }

 private:
  struct Part {
    BlockSlice slice;
    std::uint32_t rows = 0;
  };
  std::vector<Part> slices_;
  std::vector<std::byte> rows_;
  std::size_t row_bytes_ = 0;
  std::size_t bytes_ = 0;  // entries, rows and payloads
};

// The fragments of one slice in a received block. Refers to the frame.
class BlockPart {
 public:
  BlockPart(ConstBytes rows, ConstBytes payloads) : rows_(rows), payloads_(payloads) {}

  [[nodiscard]] std::size_t size() const { return rows_.size() / kBlockRowBytes; }
  [[nodiscard]] BlockRow row(std::size_t index) const {
    return load_row(rows_.data() + kBlockRowBytes * index);
  }
  // Returns all payloads in sequence: each begins after the block_bytes() of the previous ones.
  [[nodiscard]] ConstBytes payloads() const { return payloads_; }
  // Returns the length of rows and payloads.
  [[nodiscard]] std::size_t bytes() const { return rows_.size() + payloads_.size(); }

 private:
  ConstBytes rows_;
  ConstBytes payloads_;
};

// A received block, checked as a whole before its first row is used. Refers to the frame.
class BlockView {
 public:
  [[nodiscard]] static Expected<BlockView, WireError> parse(const FrameHeader& header, ConstBytes payload);

  // Calls visit(const BlockSlice&, const BlockPart&) for each slice, in the order of the frame.
  template <class Visit>
  void for_each_slice(Visit visit) const;

 private:
  struct Entry {
    BlockSlice slice;
    std::uint32_t rows = 0;
  };
  [[nodiscard]] static Entry load_entry(const std::byte* at) {
    return {{SliceId(load_le<std::uint64_t>(at)), Attempt(load_le<std::uint16_t>(at + 8)),
             load_le<std::uint32_t>(at + 12)},
            load_le<std::uint16_t>(at + 10)};
  }

  Entry first_;
  ConstBytes entries_;  // of the further slices
  ConstBytes rows_;
  ConstBytes payloads_;
};

template <class Visit>
void BlockView::for_each_slice(Visit visit) const {
  if (entries_.empty()) return visit(first_.slice, BlockPart(rows_, payloads_));
  ConstBytes rows = rows_;
  ConstBytes payloads = payloads_;
  const auto visit_next = [&](const Entry& entry) {
    const ConstBytes own = rows.first(kBlockRowBytes * std::size_t{entry.rows});
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < own.size(); at += kBlockRowBytes)
      bytes += block_bytes(load_le<std::uint32_t>(own.data() + at + 4));
    visit(entry.slice, BlockPart(own, payloads.first(bytes)));
    rows = rows.subspan(own.size());
    payloads = payloads.subspan(bytes);
  };
  visit_next(first_);
  for (std::size_t at = 0; at < entries_.size(); at += kBlockSliceBytes)
    visit_next(load_entry(entries_.data() + at));
}

}  // namespace weir::wire
