#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/packets/packet.hpp>

#include <algorithm>
#include <array>

namespace weir::packets {
namespace {

constexpr std::size_t kMagicAt = 0;
constexpr std::size_t kVersionAt = 4;
constexpr std::size_t kTypeAt = 5;
constexpr std::size_t kHeaderLengthAt = 6;
constexpr std::size_t kRunAt = 8;
constexpr std::size_t kSourceAt = 12;
constexpr std::size_t kSliceAt = 16;
constexpr std::size_t kSequenceAt = 24;
constexpr std::size_t kTotalAt = 28;
constexpr std::size_t kOffsetAt = 32;
constexpr std::size_t kFlagsAt = 36;
constexpr std::size_t kCrcAt = 40;
constexpr std::size_t kSessionAt = 44;
// Behind the first 48 bytes:
constexpr std::size_t kHasAt = 48;
constexpr std::size_t kCounterAt = 56;
constexpr std::size_t kTimeAt = 64;
constexpr std::size_t kDurationAt = 72;

constexpr std::uint8_t kHasCounter = 1;
constexpr std::uint8_t kHasTime = 2;

constexpr std::uint16_t kFlagChecksum = 1;
constexpr std::uint16_t kFlagTruncated = 2;
constexpr std::uint16_t kFlagCloses = 4;
constexpr std::uint16_t kFlagsKnown = kFlagChecksum | kFlagTruncated | kFlagCloses;

// Computed over the whole datagram, with its own four bytes taken as zero.
std::uint32_t checksum(ConstBytes header, ConstBytes payload) {
  constexpr std::array<std::byte, 4> kZero{};
  std::uint32_t crc = crc32c(header.first(kCrcAt));
  crc = crc32c_extend(crc, kZero);
  crc = crc32c_extend(crc, header.subspan(kCrcAt + kZero.size()));
  return crc32c_extend(crc, payload);
}

Stamp load_stamp(const std::byte* at) {
  Stamp stamp;
  const auto has = load_le<std::uint8_t>(at + kHasAt);
  stamp.has_counter = (has & kHasCounter) != 0;
  stamp.has_time = (has & kHasTime) != 0;
  if (stamp.has_counter) stamp.counter = load_le<std::uint64_t>(at + kCounterAt);
  if (!stamp.has_time) return stamp;
  stamp.time = static_cast<UtcNs>(load_le<std::uint64_t>(at + kTimeAt));
  stamp.duration = static_cast<DurationNs>(load_le<std::uint64_t>(at + kDurationAt));
  return stamp;
}

void store_stamp(const Stamp& stamp, std::byte* at) {
  const int has = (stamp.has_counter ? kHasCounter : 0) | (stamp.has_time ? kHasTime : 0);
  store_le<std::uint8_t>(at + kHasAt, static_cast<std::uint8_t>(has));
  if (stamp.has_counter) store_le<std::uint64_t>(at + kCounterAt, stamp.counter);
  if (!stamp.has_time) return;
  store_le<std::uint64_t>(at + kTimeAt, static_cast<std::uint64_t>(stamp.time));
  store_le<std::uint64_t>(at + kDurationAt, static_cast<std::uint64_t>(stamp.duration));
}

bool good_part(const Packet& packet) {
  if (packet.type == PacketType::mark) {
    return packet.payload.empty() && packet.total == 0 && packet.offset == 0;
  }
  if (packet.offset > packet.total || packet.payload.size() > packet.total - packet.offset) return false;
  return !packet.payload.empty() || packet.total == 0;
}

}  // namespace

Expected<Packet, PacketError> parse(ConstBytes datagram) {
  const auto bad = [](PacketError error) { return Unexpected<PacketError>(error); };
  if (datagram.size() < kHeaderBytes) return bad(PacketError::too_short);
  const std::byte* at = datagram.data();
  if (load_le<std::uint32_t>(at + kMagicAt) != kMagic) return bad(PacketError::bad_magic);
  if (load_le<std::uint8_t>(at + kVersionAt) != kVersion) return bad(PacketError::bad_version);
  const auto type = load_le<std::uint8_t>(at + kTypeAt);
  if (type != static_cast<std::uint8_t>(PacketType::data) &&
      type != static_cast<std::uint8_t>(PacketType::mark)) {
    return bad(PacketError::bad_type);
  }
  const std::size_t header = load_le<std::uint16_t>(at + kHeaderLengthAt);
  if (header < kHeaderBytes || header > kHeaderBytesMax || header > datagram.size()) {
    return bad(PacketError::bad_header_length);
  }
  const auto flags = load_le<std::uint16_t>(at + kFlagsAt);
  if ((flags & ~kFlagsKnown) != 0) return bad(PacketError::bad_flags);

  Packet packet;
  packet.type = static_cast<PacketType>(type);
  packet.checksummed = (flags & kFlagChecksum) != 0;
  packet.truncated = (flags & kFlagTruncated) != 0;
  packet.closes = (flags & kFlagCloses) != 0;
  packet.run = RunNumber(load_le<std::uint32_t>(at + kRunAt));
  packet.source = SourceId(load_le<std::uint32_t>(at + kSourceAt));
  packet.slice = SliceId(load_le<std::uint64_t>(at + kSliceAt));
  packet.sequence = load_le<std::uint32_t>(at + kSequenceAt);
  packet.total = load_le<std::uint32_t>(at + kTotalAt);
  packet.offset = load_le<std::uint32_t>(at + kOffsetAt);
  packet.session = load_le<std::uint32_t>(at + kSessionAt);
  if (header >= kStampedHeaderBytes) packet.stamp = load_stamp(at);
  packet.payload = datagram.subspan(header);
  if (!good_part(packet)) return bad(PacketError::bad_part);
  if (packet.checksummed &&
      checksum(datagram.first(header), packet.payload) != load_le<std::uint32_t>(at + kCrcAt)) {
    return bad(PacketError::bad_checksum);
  }
  return packet;
}

void encode_header(const Packet& packet, Bytes out) {
  WEIR_ASSERT(good_part(packet) && out.size() == header_bytes(packet));
  std::fill(out.begin(), out.end(), std::byte{});
  const int flags = (packet.checksummed ? kFlagChecksum : 0) | (packet.truncated ? kFlagTruncated : 0) |
                    (packet.closes ? kFlagCloses : 0);
  std::byte* at = out.data();
  store_le<std::uint32_t>(at + kMagicAt, kMagic);
  store_le<std::uint8_t>(at + kVersionAt, kVersion);
  store_le<std::uint8_t>(at + kTypeAt, static_cast<std::uint8_t>(packet.type));
  store_le<std::uint16_t>(at + kHeaderLengthAt, static_cast<std::uint16_t>(out.size()));
  store_le<std::uint32_t>(at + kRunAt, packet.run.value);
  store_le<std::uint32_t>(at + kSourceAt, packet.source.value);
  store_le<std::uint64_t>(at + kSliceAt, packet.slice.value);
  store_le<std::uint32_t>(at + kSequenceAt, packet.sequence);
  store_le<std::uint32_t>(at + kTotalAt, packet.total);
  store_le<std::uint32_t>(at + kOffsetAt, packet.offset);
  store_le<std::uint16_t>(at + kFlagsAt, static_cast<std::uint16_t>(flags));
  store_le<std::uint32_t>(at + kSessionAt, packet.session);
  if (packet.stamp.any()) store_stamp(packet.stamp, at);
  if (packet.checksummed) store_le<std::uint32_t>(at + kCrcAt, checksum(out, packet.payload));
}

}  // namespace weir::packets
