#pragma once

#include <weir/base/hash.hpp>

#include <cmath>
#include <cstdint>

namespace weir::packet_model {

// A stream of numbers from a seed: the same in every process.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}

  [[nodiscard]] double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  [[nodiscard]] double uniform(double from, double to) { return from + (to - from) * uniform(); }
  [[nodiscard]] double log_uniform(double from, double to) { return from * std::pow(to / from, uniform()); }
  [[nodiscard]] double exponential(double mean) { return -std::log(1 - uniform()) * mean; }
  [[nodiscard]] bool chance(double share) { return share > 0 && uniform() < share; }
  [[nodiscard]] std::uint64_t below(std::uint64_t end) { return next() % end; }

 private:
  std::uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }

  std::uint64_t state_;
};

}  // namespace weir::packet_model
