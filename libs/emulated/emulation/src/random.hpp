#pragma once

#include <weir/base/hash.hpp>

#include <cstdint>
#include <limits>

namespace weir::emulation {

// SplitMix64: 8 bytes of state, good enough for an emulated detector, and cheap to create for each (seed,
// slice, module). Meets the standard's and Boost.Random's requirements on an engine.
class SmallEngine {
 public:
  using result_type = std::uint64_t;
  explicit SmallEngine(std::uint64_t seed) : state_(seed) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() {
    const std::uint64_t state = state_;
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix64(state);
  }

  // Returns a number in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11U) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Returns a seed; seeds that differ in any part give unrelated sequences.
template <class... Parts>
[[nodiscard]] constexpr std::uint64_t seed_of(std::uint64_t seed, Parts... parts) {
  ((seed = mix64(seed ^ mix64(static_cast<std::uint64_t>(parts)))), ...);
  return seed;
}

}  // namespace weir::emulation
