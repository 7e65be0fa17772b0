#pragma once

#include <weir/base/bytes.hpp>
#include <weir/hits.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coincidence {

// time_ns << 32 | index of the hit's source on its floor << 16 | channel << 8 | time over threshold: sorts by
// time.
using PackedHit = std::uint64_t;

[[nodiscard]] constexpr std::uint32_t time_of(PackedHit hit) {
  return static_cast<std::uint32_t>(hit >> 32U);
}
[[nodiscard]] constexpr std::uint32_t module_of(PackedHit hit) {
  return static_cast<std::uint32_t>(hit) >> 8U;
}

// The hits of one fragment without waveforms, ascending in time, weir::kHitBytes each. A view.
struct HitRun {
  const std::byte* bytes = nullptr;
  std::uint32_t count = 0;
  std::uint32_t place = 0;  // index of the source on its floor

  [[nodiscard]] PackedHit packed(std::uint32_t i) const {
    const std::byte* at = bytes + std::size_t{i} * weir::kHitBytes;
    return std::uint64_t{weir::load_le<std::uint32_t>(at + 1)} << 32U | std::uint64_t{place} << 16U |
           std::uint64_t{static_cast<std::uint8_t>(at[0])} << 8U | static_cast<std::uint8_t>(at[5]);
  }
};

// Hits of one floor, each within the pair window of the next, at least two of them from different modules.
struct Level1 {
  std::uint32_t time_ns = 0;  // of the first hit
  std::uint32_t floor = 0;
  std::uint32_t first_hit = 0;  // in Level1List::hits
  std::uint32_t hit_count = 0;
  bool used = false;
};

struct Level1List {
  std::vector<Level1> found;
  std::vector<PackedHit> hits;
};

}  // namespace coincidence
