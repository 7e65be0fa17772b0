#include "recent_rates.hpp"

#include <algorithm>

namespace weir::shaping {

double RecentRates::full() const {
  const std::size_t count = std::min<std::size_t>(seen_, tuning::kMany);
  if (count == 0) return 0;
  std::array<double, tuning::kMany> sorted = rates_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(count) * tuning::kHigh);
  std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  return *at;
}

double RecentRates::best_of(std::size_t epochs) const {
  const std::size_t count = std::min<std::size_t>({seen_, epochs, tuning::kMany});
  double best = 0;
  for (std::size_t i = 0; i < count; ++i) best = std::max(best, rates_[(seen_ - 1 - i) % tuning::kMany]);
  return best;
}

}  // namespace weir::shaping
