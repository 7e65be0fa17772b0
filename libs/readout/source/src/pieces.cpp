#include <weir/base/assert.hpp>
#include <weir/source/pieces.hpp>

#include <cstring>

namespace weir::source {
namespace {

void store_signed(std::byte* at, std::int64_t value) { store_le(at, static_cast<std::uint64_t>(value)); }

}  // namespace

std::uint64_t encoded_bytes(std::span<const Piece* const> pieces) {
  std::uint64_t bytes = kPiecesHeaderBytes + kPiecesEntryBytes * pieces.size();
  for (const Piece* piece : pieces) bytes += piece->bytes.size();
  return bytes;
}

void encode_pieces(const TimeWindow& window, std::span<const Piece* const> pieces, std::byte* to) {
  store_le(to, kPiecesMagic);
  store_le(to + 4, static_cast<std::uint32_t>(pieces.size()));
  store_signed(to + 8, window.time);
  store_signed(to + 16, window.duration);
  store_signed(to + 24, window.before);
  store_signed(to + 32, window.after);
  std::byte* entry = to + kPiecesHeaderBytes;
  std::byte* bytes = entry + kPiecesEntryBytes * pieces.size();
  const Piece* last = nullptr;
  for (const Piece* piece : pieces) {
    WEIR_ASSERT(last == nullptr || last->time <= piece->time);
    last = piece;
    store_signed(entry, piece->time - window.time);
    store_signed(entry + 8, piece->duration);
    store_le(entry + 16, static_cast<std::uint32_t>(piece->bytes.size()));
    store_le(entry + 20, window.shares(*piece) ? kPieceBorder : std::uint8_t{0});
    store_le(entry + 21, static_cast<std::uint8_t>(piece->status));
    store_le(entry + 22, std::uint16_t{0});
    entry += kPiecesEntryBytes;
    if (!piece->bytes.empty()) std::memcpy(bytes, piece->bytes.data(), piece->bytes.size());
    bytes += piece->bytes.size();
  }
}

}  // namespace weir::source
