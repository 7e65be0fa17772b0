#include "overdraft.hpp"

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

// After this long without progress a request may exceed a full window; after the next standstills 2, 4, 8,
// ... may, one at a time, until the window has room again.
constexpr DurationNs kStandstill = 500 * kMillisecond;
constexpr std::uint64_t kOverdraftMax = 1U << 20;

}  // namespace

void Overdraft::begin_round(bool may_begin, TimeNs now_ns) {
  stands_still_ = may_begin && now_ns - moved_ns_ >= kStandstill;
}

void Overdraft::granted(std::uint64_t outstanding) {
  // A short request may fit beside all that is stuck; only the answer to a stuck one makes room.
  if (outstanding < stuck_) limit_ = left_ = 0;
}

bool Overdraft::allows(std::uint64_t outstanding) {
  if (std::exchange(stands_still_, false)) {
    stuck_ = outstanding;
    left_ = limit_ = std::clamp<std::uint64_t>(2 * limit_, 1, kOverdraftMax);
  }
  if (left_ == 0 || outstanding > stuck_) return false;
  --left_;
  ++count_;
  return true;
}

}  // namespace weir::dcm
