#pragma once

#include <weir/packets/packet.hpp>
#include <weir/packets/sender_tracker.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace weir::packets::test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

// Returns 10.0.0.N, port N.
inline Origin address(std::uint8_t number) { return {{10, 0, 0, number}, number, false}; }

inline std::vector<std::byte> datagram(Packet packet, std::string_view payload) {
  const std::vector<std::byte> bytes = bytes_of(payload);
  packet.payload = bytes;
  std::vector<std::byte> out(header_bytes(packet) + bytes.size());
  encode_header(packet, std::span(out).first(header_bytes(packet)));
  std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(header_bytes(packet)));
  return out;
}

}  // namespace weir::packets::test
