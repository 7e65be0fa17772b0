#include "line_rate.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

constexpr DurationNs kPauseLeast = 2 * kMillisecond;
constexpr std::uint64_t kStretch = 44 * 1448;  // bytes; less may be a burst that a port sends at once
constexpr double kRateFade = 0.99;

}  // namespace

void LineRate::note(std::uint64_t bytes, TimeNs before_ns, TimeNs now_ns) {
  bytes_ += bytes;
  // These bytes arrived at an unknown moment of a pause.
  if (now_ns - before_ns > kPauseLeast) {
    since_ns_ = now_ns;
    bytes_ = 0;
  }
  if (bytes_ < kStretch || now_ns == since_ns_) return;
  rate_ = std::max(rate_, static_cast<double>(bytes_) / static_cast<double>(now_ns - since_ns_));
  since_ns_ = now_ns;
  bytes_ = 0;
}

void LineRate::fade() { rate_ *= kRateFade; }

}  // namespace weir::shaping
