#include "epoch.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

// Returns the value at this place among the first `count` values in order.
template <class Values>
auto quantile_of(Values& values, std::size_t count, double place) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.begin() + static_cast<std::ptrdiff_t>(count));
  return *at;
}

}  // namespace

double Epoch::rate() const {
  return limited_ns > 0 ? static_cast<double>(bytes) / static_cast<double>(limited_ns) : 0;
}

DurationNs Epoch::quantile(double share) {
  const std::size_t count = std::min<std::size_t>(responses, times_us10.size());
  if (count == 0) return 0;
  return DurationNs{quantile_of(times_us10, count, share * static_cast<double>(count - 1))} * 100;
}

void RecentRates::note(double rate) {
  rates_[seen_++ % tuning::kMany] = rate;
  best_ = best_of(tuning::kMany);
}

double RecentRates::full() const {
  const std::size_t count = std::min<std::size_t>(seen_, tuning::kMany);
  if (count == 0) return 0;
  std::array<double, tuning::kMany> sorted = rates_;
  return quantile_of(sorted, count, static_cast<double>(count) * tuning::kHigh);
}

double RecentRates::best_of(std::size_t epochs) const {
  const std::size_t count = std::min<std::size_t>({seen_, epochs, tuning::kMany});
  double best = 0;
  for (std::size_t i = 0; i < count; ++i) best = std::max(best, rates_[(seen_ - 1 - i) % tuning::kMany]);
  return best;
}

}  // namespace weir::shaping
