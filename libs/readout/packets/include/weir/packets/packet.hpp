#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/stamp.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Packets of a front-end, as datagrams. FORMAT.md specifies them byte by byte.
namespace weir::packets {

constexpr std::uint32_t kMagic = 0x50445557;  // the bytes "WUDP"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kStampedHeaderBytes = 80;   // with a counter or a time
constexpr std::size_t kHeaderBytesMax = 1024;     // for later revisions
constexpr std::size_t kDatagramBytesMax = 65507;  // UDP over IPv4
constexpr std::uint16_t kPortDefault = 7300;      // of readout 0; readout i takes this + i

enum class PacketType : std::uint8_t {
  data = 1,  // a part of a fragment
  mark = 2   // no bytes: the source is done with a slice and all earlier ones
};

struct Packet {
  PacketType type = PacketType::data;
  bool checksummed = true;   // carries a CRC32C over the whole datagram
  bool truncated = false;    // shortened by the front-end
  bool closes = false;       // data: no bytes of this or an earlier slice follow in the sequence
  RunNumber run;             // 0: any run
  SourceId source;           //
  SliceId slice;             //
  std::uint32_t sequence{};  // counts the packets of a source since its front-end's start
  std::uint32_t session{};   // changes with each start of the front-end; 0: not used
  std::uint32_t total = 0;   // bytes of the whole fragment
  std::uint32_t offset = 0;  // of this part
  Stamp stamp;               // of the fragment; the same in all its packets
  ConstBytes payload;        // a view of the datagram
};

enum class PacketError : std::uint8_t {
  too_short,
  bad_magic,
  bad_version,
  bad_type,
  bad_header_length,
  bad_flags,
  bad_part,      // extends beyond its fragment, or is an empty part of several
  bad_checksum,  //
};
constexpr std::size_t kPacketErrors = 8;
[[nodiscard]] constexpr std::string_view name(PacketError error) {
  constexpr std::string_view kNames[] = {"too_short",         "bad_magic", "bad_version", "bad_type",
                                         "bad_header_length", "bad_flags", "bad_part",    "bad_checksum"};
  return kNames[static_cast<std::size_t>(error)];
}

// Parses a datagram. A returned packet obeys these rules: the payload is inside the datagram, and offset +
// payload inside `total`.
[[nodiscard]] Expected<Packet, PacketError> parse(ConstBytes datagram);

// Returns the length of the packet's header.
[[nodiscard]] inline std::size_t header_bytes(const Packet& packet) {
  return packet.stamp.any() ? kStampedHeaderBytes : kHeaderBytes;
}
// Writes the header; the payload follows it in the datagram. Requires: the packet obeys the rules, and `out`
// has header_bytes(packet).
void encode_header(const Packet& packet, Bytes out);

}  // namespace weir::packets
