#include <weir/packet_switch/checksum.hpp>

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>

namespace weir::packet_switch {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kAddresses = 12;  // in the IPv4 header, both
constexpr std::size_t kHeaderLeast = 20;
constexpr std::uint32_t kFragmented = 0x3FFF;  // offset, and further fragments
constexpr std::uint32_t kAllOnes = 0xFFFF;

std::uint32_t byte_at(ConstBytes bytes, std::size_t at) { return std::to_integer<std::uint32_t>(bytes[at]); }

std::uint32_t word_at(ConstBytes bytes, std::size_t at) {
  return byte_at(bytes, at) << 8U | byte_at(bytes, at + 1);
}

// Adds words of 16 bits; an odd last byte is the upper half of one. At most 64 KiB, so that nothing
// overflows.
std::uint32_t sum_of(ConstBytes bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += word_at(bytes, i);
  if (bytes.size() % 2 != 0) sum += byte_at(bytes, bytes.size() - 1) << 8U;
  return sum;
}

std::uint32_t fold(std::uint64_t sum) {
  while (sum > kAllOnes) sum = (sum & kAllOnes) + (sum >> 16U);
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

bool lacks_checksum(ConstBytes frame) {
  if (frame.size() < kEthernet + kHeaderLeast || word_at(frame, kAddresses) != 0x0800) return false;
  const ConstBytes packet = frame.subspan(kEthernet);
  const std::size_t header = std::size_t{byte_at(packet, 0) & 0xFU} * 4;
  const std::size_t length = word_at(packet, 2);
  const std::uint32_t protocol = byte_at(packet, 9);
  if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) return false;
  if (header < kHeaderLeast || length < header || length > packet.size()) return false;
  if ((word_at(packet, 6) & kFragmented) != 0) return false;
  const ConstBytes segment = packet.subspan(header, length - header);
  const std::size_t field = protocol == IPPROTO_TCP ? 16 : 6;
  if (segment.size() < field + 2) return false;
  const auto pseudo = std::uint64_t{sum_of(packet.subspan(kAddresses, 8))} + protocol + segment.size();
  return word_at(segment, field) == fold(pseudo) && fold(pseudo + sum_of(segment)) != kAllOnes;
}

}  // namespace weir::packet_switch
