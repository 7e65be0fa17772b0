#include "start_up.hpp"

#include "tuning.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {
StartUp::Step StartUp::epoch(const Seen& seen) {
  const double best = std::exchange(best_rate_, std::max(best_rate_, seen.rate));
  if (seen.on_line) return on_line(seen, best);
  // If the rate grows with the window, the queue is at the readout's own uplink.
  if (seen.rate > best * (seen.queues ? tuning::kClear : tuning::kUp)) {
    vain_ = 0;
    return {Move::grow};
  }
  if (seen.queues) return {Move::shrink, true};
  const bool over = ++vain_ >= tuning::kFew;
  return {over ? Move::stay : Move::grow, over};
}

// The data of this round trip were requested with the previous window.
StartUp::Step StartUp::on_line(const Seen& seen, double best) {
  line_grows_ = seen.rate > best * tuning::kClear;
  if (!line_grows_) return {Move::stay, ++vain_ >= tuning::kFew};
  vain_ = 0;
  return {Move::follow, false, 2 * seen.line_bytes};
}

}  // namespace weir::shaping
