#pragma once

#include <weir/base/hash.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir::simnet {

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine, for integers only.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}

  std::uint64_t next() {
    const std::uint64_t drawn = mix64(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return drawn;
  }
  // Returns 0 to n - 1. Requires: n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  // Returns a number between both ends, included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // Like between(), but every power of two between the ends is equally likely. Requires: neither end is
  // negative.
  std::int64_t skewed(std::int64_t low, std::int64_t high) {
    const auto width = [](std::int64_t value) {
      return static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value)));
    };
    const std::int64_t bits = between(width(low), width(high));
    const std::int64_t mask = bits == 0 ? 0 : (std::int64_t{1} << (bits - 1)) - 1;
    const std::int64_t drawn = bits == 0 ? 0 : (mask + 1) + (static_cast<std::int64_t>(next()) & mask);
    return std::clamp(drawn, low, high);
  }
  bool chance(std::uint32_t permille) { return below(1000) < permille; }
  // Returns a new generator that depends on this one's state and on `tag`.
  Random fork(std::uint64_t tag) { return Random(next() ^ mix64(tag)); }

 private:
  std::uint64_t state_;
};

}  // namespace weir::simnet
