#include "run_scan.hpp"

#include <weir/base/bytes.hpp>
#include <weir/hits.hpp>

#include <algorithm>

namespace coincidence {
namespace {

using weir::kHitBytes;

bool read_times(const std::byte* hits, std::uint32_t count, std::uint32_t* times) {
  std::uint32_t last = 0;
  bool plain = true;
  for (std::uint32_t i = 0; i < count; ++i, hits += kHitBytes) {
    const auto time = weir::load_le<std::uint32_t>(hits + 1);
    plain = plain && (static_cast<std::uint8_t>(hits[0]) & weir::kWaveformBit) == 0 && time >= last;
    times[i] = last = time;
  }
  return plain;
}

std::uint32_t* find_candidates(const std::uint32_t* times, std::uint32_t count, std::uint32_t window_ns,
                               const TimeBuckets& buckets, std::uint32_t* candidates) {
  for (std::uint32_t i = 0; i < count; ++i) {
    bool near = i + 1 < count && times[i + 1] - times[i] <= window_ns;
    if (buckets.words != nullptr) {
      // The window spans two buckets at most.
      const std::uint32_t first = (std::max(times[i], window_ns) - window_ns) >> buckets.shift;
      const auto* byte = reinterpret_cast<const std::byte*>(buckets.words) + first / 8;
      near = near || (weir::load_le<std::uint16_t>(byte) >> first % 8 & 3U) != 0;
    }
    *candidates = times[i];
    candidates += near ? 1 : 0;
  }
  return candidates;
}

}  // namespace

RunScan scalar_scan() { return {read_times, find_candidates}; }

#ifndef WEIR_WITH_HIGHWAY
RunScan vector_scan() { return scalar_scan(); }
#endif

void mark_buckets(const std::uint32_t* times, std::uint32_t count, const TimeBuckets& buckets) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t bucket = times[i] >> buckets.shift;
    buckets.words[bucket / 32] |= std::uint32_t{1} << bucket % 32;
  }
}

}  // namespace coincidence
