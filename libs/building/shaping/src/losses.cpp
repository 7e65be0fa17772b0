#include "losses.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

constexpr double kMin = 4;
constexpr double kShare = 0.005;
constexpr double kShareTolerated = 0.05;
constexpr DurationNs kToleratedMax = 64 * kSecond;

}  // namespace

bool Losses::note(double segments, double came, DurationNs within_ns, TimeNs now_ns) {
  if (now_ns - since_ns_ > within_ns) {
    since_ns_ = now_ns;
    segments_ = 0;
  }
  segments_ += segments;
  const double share = now_ns < tolerated_until_ns_ ? kShareTolerated : kShare;
  return segments_ >= std::max(kMin, share * came);
}

void Losses::tolerate(TimeNs now_ns) {
  tolerated_ns_ = std::min(2 * tolerated_ns_, kToleratedMax);
  tolerated_until_ns_ = now_ns + tolerated_ns_;
}

}  // namespace weir::shaping
