#pragma once

#include <weir/base/ids.hpp>

#include <cstdint>

namespace weir {

// A bijection of 64-bit numbers that scatters neighbours (the finaliser of SplitMix64: Steele, Lea, Flood
// 2014).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The ledger's summary of a set of slices: their number, and the sum of their ids' hashes (mod 2^64). Two
// processes that counted the same slices agree in both; a count alone can agree by accident or by
// construction.
struct SliceSum {
  std::uint64_t count = 0;
  std::uint64_t hash_sum = 0;

  constexpr void add(SliceId slice) {
    ++count;
    hash_sum += mix64(slice.value);
  }
  constexpr void remove(SliceId slice) {
    --count;
    hash_sum -= mix64(slice.value);
  }
  constexpr SliceSum& operator+=(const SliceSum& other) {
    count += other.count;
    hash_sum += other.hash_sum;
    return *this;
  }
  constexpr bool operator==(const SliceSum&) const = default;
};

}  // namespace weir
