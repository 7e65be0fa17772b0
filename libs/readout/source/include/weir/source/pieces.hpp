#pragma once

#include <weir/base/ids.hpp>
#include <weir/source/source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::source {

// A front-end's data of one moment or short time.
struct Piece {
  UtcNs time = 0;
  DurationNs duration = 0;                     // 0: a moment
  FragmentStatus status = FragmentStatus::ok;  // missing: the front-end has lost it
  ConstBytes bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive

  // Returns the first moment after the piece.
  [[nodiscard]] UtcNs end() const { return time + (duration > 0 ? duration : 1); }
};

// A time, of which a fragment has the data: [time - before, time + duration + after).
struct TimeWindow {
  SliceId slice;
  UtcNs time = 0;           // begin of a time slice, or moment of an event
  DurationNs duration = 0;  // of a time slice
  DurationNs before = 0;
  DurationNs after = 0;

  [[nodiscard]] UtcNs begin() const { return time - before; }
  [[nodiscard]] UtcNs end() const { return time + duration + after; }
  [[nodiscard]] bool has(const Piece& piece) const { return piece.time < end() && piece.end() > begin(); }
  // Returns whether a neighbouring time slice with the same overlap has the piece, too.
  [[nodiscard]] bool shares(const Piece& piece) const {
    return duration > 0 && (piece.time < time + after || piece.end() > time + duration - before);
  }
};

// The layout of a fragment (FORMAT.md).
constexpr std::uint32_t kPiecesMagic = 0x3143'5057;
constexpr std::size_t kPiecesHeaderBytes = 40;
constexpr std::size_t kPiecesEntryBytes = 24;
constexpr std::uint8_t kPieceBorder = 1;

// Returns the fragment's length.
[[nodiscard]] std::uint64_t encoded_bytes(std::span<const Piece* const> pieces);
// Writes the fragment. Requires: encoded_bytes() bytes at `to`; pieces ascend in time.
void encode_pieces(const TimeWindow& window, std::span<const Piece* const> pieces, std::byte* to);

}  // namespace weir::source
