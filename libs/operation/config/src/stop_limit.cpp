#include <weir/config/stop_limit.hpp>

#include <algorithm>
#include <cmath>

namespace weir::config {
namespace {

constexpr double kAfterDrainS = 20;
constexpr double kCloseMaxS = 12;
constexpr DurationNs kToTravel = 3 * kSecond;  // for an account, or a reason, to reach run control

DurationNs nanoseconds(double seconds) {
  return static_cast<DurationNs>(std::llround(seconds * static_cast<double>(kSecond)));
}

}  // namespace

DurationNs stop_limit(const v1::Farm& farm) {
  const double seconds = std::max(farm.control().stop_s(), farm.run().drain_timeout_s() + kAfterDrainS);
  return nanoseconds(seconds);
}

StopParts stop_parts(DurationNs limit) {
  return {std::max<DurationNs>(0, limit - nanoseconds(kAfterDrainS)),
          std::max<DurationNs>(0, limit - kToTravel)};
}

DurationNs gather_patience(DurationNs limit) { return std::max(limit - kToTravel, limit / 2); }

DurationNs close_patience(const v1::Farm& farm) {
  return nanoseconds(std::min(farm.run().drain_timeout_s(), kCloseMaxS));
}

}  // namespace weir::config
