#include "start_up.hpp"

#include "tuning.hpp"

#include <algorithm>

namespace weir::shaping {

using namespace tuning;

double StartUp::epoch(const Seen& seen) {
  // If the rate grows with the window, a queue is at the readout's own uplink.
  const bool grows = seen.rate > best_rate_ * (seen.on_line || seen.queues ? kClear : kUp);
  best_rate_ = std::max(best_rate_, seen.rate);
  vain_ = grows ? 0 : vain_ + 1;
  over_ = vain_ >= kFew;
  if (seen.on_line) {
    line_grows_ = grows;
    // The data of this round trip were requested with the previous window.
    return grows ? std::max(seen.window, 2 * seen.line_bytes) : seen.window;
  }
  if (grows || (!seen.queues && !over_)) return seen.window * kFactor;
  over_ = true;
  return seen.queues ? seen.window / kFactor : seen.window;
}

}  // namespace weir::shaping
