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
  // 0 to n - 1; n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  // As between(), but every order of magnitude above `low` is as likely as any other.
  std::int64_t skewed(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low);
    const std::uint64_t bits = below(static_cast<std::uint64_t>(std::bit_width(range)) + 1);
    const std::uint64_t mask = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
    return low + static_cast<std::int64_t>(std::min(next() & mask, range));
  }
  bool chance(std::uint32_t permille) { return below(1000) < permille; }
  // A generator of its own, that depends on this one's present state and on `tag`.
  Random fork(std::uint64_t tag) { return Random(next() ^ mix64(tag)); }

 private:
  std::uint64_t state_;
};

}  // namespace weir::simnet
