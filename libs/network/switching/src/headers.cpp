#include "big_endian.hpp"
#include <weir/switching/headers.hpp>

#include <algorithm>

namespace weir::switching {
namespace {

using Refused = Unexpected<HeaderError>;

constexpr std::size_t kTypeAt = 12;
constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kArp = 0x0806;
constexpr std::uint16_t kFirstType = 0x0600;  // below: a length, IEEE 802.3

// ARP for IPv4 over Ethernet (RFC 826): fixed fields, then the target's address.
constexpr std::size_t kArpBytes = 28;
constexpr std::size_t kArpTargetAt = 24;
constexpr std::uint64_t kArpFixed = 0x0001'0800'0604;

constexpr std::size_t kIpBytesMin = 20;
constexpr std::size_t kServiceAt = 1;
constexpr std::size_t kLengthAt = 2;
constexpr std::size_t kFragmentAt = 6;
constexpr std::size_t kProtocolAt = 9;
constexpr std::size_t kChecksumAt = 10;
constexpr std::size_t kAddressAt = 16;
constexpr std::uint16_t kFragmentOffset = 0x1fff;
constexpr std::byte kTcp{6};
constexpr std::byte kUdp{17};
constexpr std::size_t kPortAt = 2;

constexpr std::byte kMarkBits{0x03};
constexpr std::byte kMarked{0x03};

constexpr std::size_t kWireExtra = 24;  // preamble 8, checksum 4, gap 12
constexpr std::size_t kWireLeast = 84;

Expected<FrameDestination, HeaderError> read_arp(ConstBytes arp) {
  if (arp.size() < kArpBytes) return Refused(HeaderError::malformed);
  const std::uint64_t fixed = (std::uint64_t{load_32(arp, 0)} << 16U) | load_16(arp, 4);
  if (fixed != kArpFixed) return Refused(HeaderError::other_protocol);
  return FrameDestination{load_32(arp, kArpTargetAt), 0, false};
}

Expected<FrameDestination, HeaderError> read_ipv4(ConstBytes packet) {
  if (packet.size() < kIpBytesMin) return Refused(HeaderError::malformed);
  const unsigned first = std::to_integer<unsigned>(packet[0]);
  const std::size_t header = std::size_t{4} * (first & 0xfU);
  const std::size_t length = load_16(packet, kLengthAt);
  if (first >> 4U != 4 || header < kIpBytesMin || length < header || length > packet.size())
    return Refused(HeaderError::malformed);
  FrameDestination to{load_32(packet, kAddressAt), 0, true};
  const bool has_ports = packet[kProtocolAt] == kTcp || packet[kProtocolAt] == kUdp;
  // Later fragments of a packet have no ports.
  const bool first_part = (load_16(packet, kFragmentAt) & kFragmentOffset) == 0;
  if (has_ports && first_part && length >= header + kPortAt + 2) to.port = load_16(packet, header + kPortAt);
  return to;
}

}  // namespace

Expected<FrameDestination, HeaderError> destination_of(ConstBytes frame) {
  if (frame.size() < kEthernetHeaderBytes) return Refused(HeaderError::malformed);
  const std::uint16_t type = load_16(frame, kTypeAt);
  const ConstBytes payload = frame.subspan(kEthernetHeaderBytes);
  if (type == kIpv4) return read_ipv4(payload);
  if (type == kArp) return read_arp(payload);
  return Refused(type < kFirstType && type > payload.size() ? HeaderError::malformed
                                                            : HeaderError::other_protocol);
}

bool mark_congestion(Bytes frame) {
  const Bytes packet = frame.subspan(kEthernetHeaderBytes);
  std::byte& service = packet[kServiceAt];
  if ((service & kMarkBits) == std::byte{0}) return false;
  const std::uint16_t before = load_16(packet, 0);
  service |= kMarked;
  const std::uint16_t after = load_16(packet, 0);
  std::uint32_t sum = static_cast<std::uint16_t>(~load_16(packet, kChecksumAt));
  sum += static_cast<std::uint16_t>(~before) + std::uint32_t{after};
  while (sum > UINT16_MAX) sum = (sum & UINT16_MAX) + (sum >> 16U);
  store_16(packet, kChecksumAt, static_cast<std::uint16_t>(~sum));
  return true;
}

std::uint64_t wire_bytes(std::size_t frame_bytes) { return std::max(frame_bytes + kWireExtra, kWireLeast); }

}  // namespace weir::switching
