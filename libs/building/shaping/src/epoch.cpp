#include "epoch.hpp"

#include <algorithm>

namespace weir::shaping {

void Epoch::begin() {
  limited_ns = 0;
  bytes = 0;
  responses = 0;
}

double Epoch::rate() const {
  return limited_ns > 0 ? static_cast<double>(bytes) / static_cast<double>(limited_ns) : 0;
}

DurationNs Epoch::quantile(double share) {
  const std::size_t count = std::min<std::size_t>(responses, times_us10.size());
  if (count == 0) return 0;
  const auto at = times_us10.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(count - 1));
  std::nth_element(times_us10.begin(), at, times_us10.begin() + static_cast<std::ptrdiff_t>(count));
  return DurationNs{*at} * 100;
}

}  // namespace weir::shaping
