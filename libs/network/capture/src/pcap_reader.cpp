#include <weir/base/assert.hpp>
#include <weir/capture/pcap_reader.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weir::capture {
namespace {

// The file format and link types are those of https://www.tcpdump.org/manpages/pcap-savefile.5.html.
constexpr std::uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kMagicPcapng = 0x0a0d0d0a;
constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kPacketHeaderBytes = 16;
constexpr std::size_t kLinkAt = 20;

constexpr std::uint32_t kLinkNull = 0;
constexpr std::uint32_t kLinkEthernet = 1;
constexpr std::uint32_t kLinkRaw = 101;
constexpr std::uint32_t kLinkCooked = 113;
constexpr std::uint32_t kLinkCooked2 = 276;

constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint8_t kTcp = 6;
constexpr std::size_t kTcpHeaderMin = 20;
constexpr std::uint8_t kSyn = 2;

std::uint16_t big16(ConstBytes bytes, std::size_t at) {
  WEIR_ASSERT(at + 1 < bytes.size());
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8U |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

std::uint32_t big32(ConstBytes bytes, std::size_t at) {
  return std::uint32_t{big16(bytes, at)} << 16U | big16(bytes, at + 2);
}

// Returns the length of the link's header; nullopt if the packet is shorter.
std::optional<std::size_t> link_header(std::uint32_t link, ConstBytes packet) {
  constexpr std::size_t kEthernetBytes = 14;
  constexpr std::size_t kVlanBytes = 4;
  std::size_t size = 0;
  switch (link) {
    case kLinkNull:
      size = 4;
      break;
    case kLinkEthernet:
      size = kEthernetBytes;
      while (packet.size() >= size && big16(packet, size - 2) == kVlan) size += kVlanBytes;
      break;
    case kLinkCooked:
      size = 16;
      break;
    case kLinkCooked2:
      size = 20;
      break;
    default:
      break;
  }
  if (packet.size() <= size) return std::nullopt;
  return size;
}

struct IpPacket {
  CapturedEndpoint from;
  CapturedEndpoint to;
  ConstBytes payload;      // as far as it was captured
  std::size_t length = 0;  // of the payload on the wire
};

std::optional<IpPacket> ip_v4(ConstBytes packet) {
  constexpr std::size_t kHeaderMin = 20;
  constexpr unsigned kFragmentMask = 0x3fff;  // "more fragments" and the offset
  if (packet.size() < kHeaderMin) return std::nullopt;
  const std::size_t header = (std::to_integer<std::size_t>(packet[0]) & 15U) * 4;
  const std::size_t total = big16(packet, 2);
  if (header < kHeaderMin || packet.size() < header || std::to_integer<std::uint8_t>(packet[9]) != kTcp ||
      (big16(packet, 6) & kFragmentMask) != 0)
    return std::nullopt;
  IpPacket ip;
  std::copy_n(packet.begin() + 12, 4, ip.from.address.begin());
  std::copy_n(packet.begin() + 16, 4, ip.to.address.begin());
  // 0: segmentation was left to the network card, and the length with it.
  ip.length = total == 0 ? packet.size() - header : total > header ? total - header : 0;
  ip.payload = packet.subspan(header, std::min(packet.size() - header, ip.length));
  return ip;
}

std::optional<IpPacket> ip_v6(ConstBytes packet) {
  constexpr std::size_t kHeaderBytes = 40;
  if (packet.size() < kHeaderBytes || std::to_integer<std::uint8_t>(packet[6]) != kTcp) return std::nullopt;
  IpPacket ip;
  ip.from.is_v6 = ip.to.is_v6 = true;
  std::copy_n(packet.begin() + 8, 16, ip.from.address.begin());
  std::copy_n(packet.begin() + 24, 16, ip.to.address.begin());
  const std::size_t length = big16(packet, 4);
  ip.length = length == 0 ? packet.size() - kHeaderBytes : length;
  ip.payload = packet.subspan(kHeaderBytes, std::min(packet.size() - kHeaderBytes, ip.length));
  return ip;
}

}  // namespace

std::string to_text(const CapturedEndpoint& endpoint) {
  const auto byte = [&endpoint](std::size_t at) { return std::to_integer<unsigned>(endpoint.address[at]); };
  if (!endpoint.is_v6)
    return fmt::format("{}.{}.{}.{}:{}", byte(0), byte(1), byte(2), byte(3), endpoint.port);
  std::string text;
  for (std::size_t at = 0; at < endpoint.address.size(); at += 2)
    text += fmt::format("{}{:x}", at == 0 ? "" : ":", byte(at) << 8U | byte(at + 1));
  return fmt::format("[{}]:{}", text, endpoint.port);
}

Expected<PcapReader, std::string> PcapReader::open(ConstBytes file) {
  if (file.size() < kFileHeaderBytes) return Unexpected<std::string>("too short for a pcap file");
  const std::uint32_t big = big32(file, 0);
  const std::uint32_t little = load_le<std::uint32_t>(file.data());
  if (big == kMagicPcapng)
    return Unexpected<std::string>(
        "a pcapng file: convert it with `editcap -F pcap IN OUT`, or use tcpdump -w");
  for (const bool swapped : {false, true}) {
    const std::uint32_t magic = swapped ? big : little;
    if (magic != kMagicMicroseconds && magic != kMagicNanoseconds) continue;
    PcapReader reader(file, swapped, magic == kMagicNanoseconds, 0);
    reader.link_ = reader.number(kLinkAt) & 0xffffU;
    for (const std::uint32_t known : {kLinkNull, kLinkEthernet, kLinkRaw, kLinkCooked, kLinkCooked2}) {
      if (reader.link_ != known) continue;
      reader.rest_ = file.subspan(kFileHeaderBytes);
      return reader;
    }
    return Unexpected(
        fmt::format("link type {} is not supported: capture Ethernet, loopback or `any`", reader.link_));
  }
  return Unexpected<std::string>("not a pcap file: write it with `tcpdump -w FILE tcp`");
}

std::uint32_t PcapReader::number(std::size_t offset) const {
  WEIR_ASSERT(offset + sizeof(std::uint32_t) <= rest_.size());
  return swapped_ ? big32(rest_, offset) : load_le<std::uint32_t>(rest_.data() + offset);
}

std::optional<CapturedSegment> PcapReader::next() {
  while (rest_.size() >= kPacketHeaderBytes) {
    const TimeNs fraction = number(4);
    const TimeNs utc_ns = TimeNs{number(0)} * kSecond + (nanoseconds_ ? fraction : fraction * kMicrosecond);
    const std::size_t captured = number(8);
    rest_ = rest_.subspan(kPacketHeaderBytes);
    if (captured > rest_.size()) {
      ++skipped_;
      rest_ = {};
      break;
    }
    auto segment = segment_of(rest_.first(captured));
    rest_ = rest_.subspan(captured);
    if (!segment) {
      ++skipped_;
      continue;
    }
    segment->utc_ns = utc_ns;
    return segment;
  }
  return std::nullopt;
}

std::optional<CapturedSegment> PcapReader::segment_of(ConstBytes packet) const {
  const auto link = link_header(link_, packet);
  if (!link) return std::nullopt;
  const ConstBytes inside = packet.subspan(*link);
  WEIR_ASSERT(!inside.empty());
  const unsigned version = std::to_integer<unsigned>(inside[0]) >> 4U;
  const auto ip = version == 4 ? ip_v4(inside) : version == 6 ? ip_v6(inside) : std::nullopt;
  if (!ip || ip->payload.size() < kTcpHeaderMin) return std::nullopt;
  const ConstBytes tcp = ip->payload;
  const std::size_t header = (std::to_integer<std::size_t>(tcp[12]) >> 4U) * 4;
  if (header < kTcpHeaderMin || header > tcp.size()) return std::nullopt;
  CapturedSegment segment;
  segment.from = ip->from;
  segment.to = ip->to;
  segment.from.port = big16(tcp, 0);
  segment.to.port = big16(tcp, 2);
  segment.begins = (std::to_integer<unsigned>(tcp[13]) & kSyn) != 0;
  segment.sequence = big32(tcp, 4) + (segment.begins ? 1U : 0U);
  segment.payload = tcp.subspan(header);
  segment.cut = ip->length > tcp.size();
  return segment;
}

}  // namespace weir::capture
