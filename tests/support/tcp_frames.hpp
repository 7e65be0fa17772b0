#pragma once

#include <weir/base/bytes.hpp>
#include <weir/switching/headers.hpp>

#include <cstdint>
#include <vector>

namespace weir::switching {

constexpr Address kFirstAddress = 0x0a000001;  // 10.0.0.1

// Returns a TCP frame of `bytes` bytes to an address, with the sequence number `mark` and a valid checksum.
inline std::vector<std::byte> frame_to(Address address, std::uint16_t port = 80, std::size_t bytes = 1514,
                                       std::uint32_t mark = 0, std::uint8_t service = 0) {
  std::vector<std::byte> frame(bytes);
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      frame[at + i] = static_cast<std::byte>(value >> (8 * (count - 1 - i)));
  };
  put(12, 0x0800, 2);
  put(14, 0x45, 1);
  put(15, service, 1);
  put(16, bytes - kEthernetHeaderBytes, 2);
  put(23, 6, 1);
  put(30, address, 4);
  put(36, port, 2);
  put(38, mark, 4);
  std::uint32_t sum = 0;
  for (std::size_t at = 14; at < 34; at += 2)
    sum += (std::to_integer<std::uint32_t>(frame[at]) << 8U) + std::to_integer<std::uint32_t>(frame[at + 1]);
  while (sum > UINT16_MAX) sum = (sum & UINT16_MAX) + (sum >> 16U);
  put(24, ~sum & UINT16_MAX, 2);
  return frame;
}

// Returns the sequence number of a TCP frame.
inline std::uint32_t mark_of(ConstBytes frame) {
  std::uint32_t mark = 0;
  for (std::size_t at = 38; at < 42; ++at) mark = (mark << 8U) | std::to_integer<std::uint32_t>(frame[at]);
  return mark;
}

// Returns whether the header's checksum is right.
inline bool checks(ConstBytes frame) {
  std::uint32_t sum = 0;
  for (std::size_t at = 14; at < 34; at += 2)
    sum += (std::to_integer<std::uint32_t>(frame[at]) << 8U) + std::to_integer<std::uint32_t>(frame[at + 1]);
  while (sum > UINT16_MAX) sum = (sum & UINT16_MAX) + (sum >> 16U);
  return sum == UINT16_MAX;
}

// Returns an ARP request for an address.
inline std::vector<std::byte> arp_for(Address address) {
  std::vector<std::byte> frame(42);
  const std::uint8_t fixed[] = {0x08, 0x06, 0x00, 0x01, 0x08, 0x00, 0x06, 0x04};
  for (std::size_t i = 0; i < sizeof fixed; ++i) frame[12 + i] = static_cast<std::byte>(fixed[i]);
  for (std::size_t i = 0; i < 4; ++i) frame[38 + i] = static_cast<std::byte>(address >> (8 * (3 - i)));
  return frame;
}

}  // namespace weir::switching
