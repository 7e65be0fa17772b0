#pragma once

#include <weir/base/bytes.hpp>
#include <weir/base/crc32c.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::sim {

// Size and checksum of a plugin in the simulator. Nodes report both as varints, and the bytes of a message
// decide when it arrives: with the plugins as they were compiled, a seed would be another run in each build.
// These values take as many bytes as those of nearly all plugins.
constexpr std::size_t kPluginBytes = 2'000'000;
constexpr std::uint32_t kPluginCrc32c = 0x5eed5eed;

// Returns the register before these four bytes of a CRC32C, if the register after them is `after`.
constexpr std::uint32_t register_before_zeros(std::uint32_t after) {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
  constexpr std::uint32_t kHighest = 0x80000000;
  constexpr int kBits = 32;
  for (int bit = 0; bit < kBits; ++bit)
    after = (after & kHighest) != 0 ? ((after ^ kPolynomial) << 1U) | 1U : after << 1U;
  return after;
}

// Appends zeros up to kPluginBytes, and four bytes that give the whole the checksum kPluginCrc32c.
inline void fix_checksum(std::vector<std::byte>& file) {
  constexpr std::size_t kTail = 4;
  constexpr unsigned kBitsPerByte = 8;
  file.resize(std::max(file.size(), kPluginBytes - kTail));
  const std::uint32_t tail = ~crc32c(ConstBytes(file)) ^ register_before_zeros(~kPluginCrc32c);
  for (unsigned i = 0; i < kTail; ++i) file.push_back(static_cast<std::byte>(tail >> (i * kBitsPerByte)));
}

}  // namespace weir::sim
