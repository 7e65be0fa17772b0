#pragma once

#include <weir/base/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::session_test {

// Numbers from a seed, the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed) | 1) {}
  std::uint64_t next() { return state_ = mix64(state_); }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::vector<std::byte> bytes(std::size_t size) {
    std::vector<std::byte> made(size);
    for (std::byte& byte : made) byte = static_cast<std::byte>(next() >> 13U);
    return made;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::session_test
