#include <weir/node/stop_limit.hpp>

#include <algorithm>
#include <cmath>

namespace weir::node {
namespace {

constexpr double kAfterDrainS = 20;

}  // namespace

DurationNs stop_limit(const v1::Farm& farm) {
  const double seconds = std::max(farm.control().stop_s(), farm.run().drain_timeout_s() + kAfterDrainS);
  return static_cast<DurationNs>(std::llround(seconds * static_cast<double>(kSecond)));
}

}  // namespace weir::node
