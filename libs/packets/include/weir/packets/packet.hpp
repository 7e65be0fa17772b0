#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Packets of a front-end, as datagrams. FORMAT.md has them byte by byte.
namespace weir::packets {

constexpr std::uint32_t kMagic = 0x50445557;  // the bytes "WUDP"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kHeaderBytesMax = 1024;     // of later revisions
constexpr std::size_t kDatagramBytesMax = 65507;  // UDP over IPv4
constexpr std::uint16_t kPortDefault = 7300;      // of readout 0; readout i takes this + i

enum class PacketType : std::uint8_t {
  data = 1,  // a part of a fragment
  mark = 2   // no bytes: the source is done with a slice, and with those before
};

struct Packet {
  PacketType type = PacketType::data;
  bool checksummed = true;   // carries a CRC32C over the whole datagram
  bool truncated = false;    // the front-end cut the fragment
  bool closes = false;       // data: nothing of this slice or one before follows in the sequence
  RunNumber run;             // 0: whichever runs
  SourceId source;           //
  SliceId slice;             //
  std::uint32_t sequence{};  // counts the packets of a source in a life of its front-end
  std::uint32_t session{};   // another one for each life of the front-end; 0: it does not say
  std::uint32_t total = 0;   // bytes of the whole fragment
  std::uint32_t offset = 0;  // of this part
  ConstBytes payload;        // a view of the datagram
};

enum class PacketError : std::uint8_t {
  too_short,
  bad_magic,
  bad_version,
  bad_type,
  bad_header_length,
  bad_flags,
  bad_part,      // reaches beyond its fragment, or is an empty one of several
  bad_checksum,  //
};
constexpr std::size_t kPacketErrors = 8;
[[nodiscard]] constexpr std::string_view name(PacketError error) {
  constexpr std::string_view kNames[] = {"too_short",         "bad_magic", "bad_version", "bad_type",
                                         "bad_header_length", "bad_flags", "bad_part",    "bad_checksum"};
  return kNames[static_cast<std::size_t>(error)];
}

// What a datagram says. Nothing of it is believed further than this page of rules: payload lies in the
// datagram, and offset + payload in total.
[[nodiscard]] Expected<Packet, PacketError> parse(ConstBytes datagram);

// Writes the header; the payload follows it in the datagram. The packet must keep the rules.
void encode_header(const Packet& packet, std::span<std::byte, kHeaderBytes> out);

}  // namespace weir::packets
