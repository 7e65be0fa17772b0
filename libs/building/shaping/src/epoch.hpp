#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::shaping {

// Measurements of the time in which the window was the limit. Pure.
struct Epoch {
  DurationNs limited_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t responses = 0;
  // Waiting times of the latest responses behind others, 0.1 us.
  std::array<std::uint32_t, 16 * tuning::kMany> times_us10{};

  [[nodiscard]] double rate() const;                // bytes per ns
  [[nodiscard]] DurationNs quantile(double share);  // of the response times
};

// The rates of recent epochs, in bytes per ns. Pure.
class RecentRates {
 public:
  void note(double rate);
  void forget() { *this = {}; }
  [[nodiscard]] std::size_t seen() const { return seen_; }
  // Returns the rate of a full port: a high quantile instead of the maximum, because after an idle moment a
  // port may send faster than it can sustain. 0: no measurement.
  [[nodiscard]] double full() const;
  // Returns the highest of the last `epochs`.
  [[nodiscard]] double best_of(std::size_t epochs) const;
  [[nodiscard]] double best() const { return best_; }  // of all

 private:
  std::array<double, tuning::kMany> rates_{};
  std::size_t seen_ = 0;
  double best_ = 0;
};

}  // namespace weir::shaping
