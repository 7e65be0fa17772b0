#pragma once

#include <weir/base/bytes.hpp>

#include <cstdint>

namespace weir::switching {

// Fields of a frame in network order. Requires: the bytes exist.
[[nodiscard]] inline std::uint16_t load_16(ConstBytes bytes, std::size_t at) {
  return static_cast<std::uint16_t>((std::to_integer<unsigned>(bytes[at]) << 8U) |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}
[[nodiscard]] inline std::uint32_t load_32(ConstBytes bytes, std::size_t at) {
  return (std::uint32_t{load_16(bytes, at)} << 16U) | load_16(bytes, at + 2);
}
inline void store_16(Bytes bytes, std::size_t at, std::uint16_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8U);
  bytes[at + 1] = static_cast<std::byte>(value & 0xffU);
}

}  // namespace weir::switching
