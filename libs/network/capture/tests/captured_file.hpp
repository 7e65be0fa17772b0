#pragma once

#include <weir/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::capture {

// Builds a pcap file in memory: packets between 10.0.0.1 and 10.0.0.2.
class CapturedFile {
 public:
  static constexpr std::uint32_t kEthernet = 1;

  explicit CapturedFile(std::uint32_t link = kEthernet) : link_(link) {
    little32(0xa1b2c3d4);
    little32(0x00040002);
    for (const std::uint32_t number : {0U, 0U, 262144U, link}) little32(number);
  }

  // A TCP segment; `first` sends to the second host if true. One millisecond after the previous packet.
  void tcp(bool first, std::uint16_t from, std::uint16_t to, std::uint32_t sequence, ConstBytes payload,
           std::uint8_t flags = 0x10) {
    std::vector<std::byte> packet;
    if (link_ == kEthernet) {
      packet.resize(12);
      big16(packet, 0x0800);
    }
    big16(packet, 0x4500);
    big16(packet, static_cast<std::uint16_t>(40 + payload.size()));
    for (const unsigned number : {0U, 0x4000U, 0x4006U, 0U})
      big16(packet, static_cast<std::uint16_t>(number));
    address(packet, first ? 1 : 2);
    address(packet, first ? 2 : 1);
    big16(packet, from);
    big16(packet, to);
    big16(packet, static_cast<std::uint16_t>(sequence >> 16U));
    big16(packet, static_cast<std::uint16_t>(sequence));
    big16(packet, 0);
    big16(packet, 0);
    packet.push_back(std::byte{0x50});
    packet.push_back(std::byte{flags});
    for (int i = 0; i < 3; ++i) big16(packet, 0);
    packet.insert(packet.end(), payload.begin(), payload.end());
    add(packet);
  }
  void add(ConstBytes packet) {
    little32(1'700'000'000U);
    little32(1000 * packets_++);
    little32(static_cast<std::uint32_t>(packet.size()));
    little32(static_cast<std::uint32_t>(packet.size()));
    bytes.insert(bytes.end(), packet.begin(), packet.end());
  }

  std::vector<std::byte> bytes;

 private:
  static void big16(std::vector<std::byte>& out, std::uint16_t number) {
    out.push_back(static_cast<std::byte>(number >> 8U));
    out.push_back(static_cast<std::byte>(number));
  }
  static void address(std::vector<std::byte>& out, std::uint8_t host) {
    for (const unsigned number : {10U, 0U, 0U, unsigned{host}}) out.push_back(static_cast<std::byte>(number));
  }
  void little32(std::uint32_t number) {
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(number >> (8 * i)));
  }

  std::uint32_t link_;
  std::uint32_t packets_ = 0;
};

}  // namespace weir::capture
