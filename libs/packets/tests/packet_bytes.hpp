#pragma once

#include <weir/packets/packet.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

namespace weir::packets::test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

inline std::vector<std::byte> datagram(Packet packet, std::string_view payload) {
  const std::vector<std::byte> bytes = bytes_of(payload);
  packet.payload = bytes;
  std::vector<std::byte> out(kHeaderBytes + bytes.size());
  encode_header(packet, std::span(out).first<kHeaderBytes>());
  std::copy(bytes.begin(), bytes.end(), out.begin() + kHeaderBytes);
  return out;
}

}  // namespace weir::packets::test
