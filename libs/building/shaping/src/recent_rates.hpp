#pragma once

#include "tuning.hpp"

#include <array>
#include <cstddef>

namespace weir::shaping {

// The rates of recent epochs, in bytes per ns. Pure.
class RecentRates {
 public:
  void note(double rate) { rates_[seen_++ % tuning::kMany] = rate; }
  void forget() { seen_ = 0; }
  [[nodiscard]] std::size_t seen() const { return seen_; }
  // Returns the rate of a full port: a high quantile instead of the maximum, because after an idle moment a
  // port may send faster than it can sustain. 0: no measurement.
  [[nodiscard]] double full() const;
  // Returns the highest of the last `epochs`.
  [[nodiscard]] double best_of(std::size_t epochs) const;
  [[nodiscard]] double best() const { return best_of(tuning::kMany); }

 private:
  std::array<double, tuning::kMany> rates_{};
  std::size_t seen_ = 0;
};

}  // namespace weir::shaping
