#pragma once

#include <array>
#include <cstddef>

namespace weir::shaping {

// At what rates data came of late, an epoch each; bytes per ns. Pure.
class RecentRates {
 public:
  void note(double rate) { rates_[seen_++ % kEpochs] = rate; }
  void forget() { seen_ = 0; }
  [[nodiscard]] std::size_t seen() const { return seen_; }
  // At what rate the port is full: a high quantile, not the highest one: after an idle moment a port may send
  // faster than it can for long. 0: nothing was seen.
  [[nodiscard]] double full() const;
  // The highest of the last `epochs`.
  [[nodiscard]] double best_of(std::size_t epochs) const;

  static constexpr std::size_t kEpochs = 32;

 private:
  std::array<double, kEpochs> rates_{};
  std::size_t seen_ = 0;
};

}  // namespace weir::shaping
