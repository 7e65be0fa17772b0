#include "start_up.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {
namespace {

// The port is full if a window larger by kFactor increases the rate by less than this.
constexpr double kStartGain = 1.04;
constexpr double kStartGrowth = 1.15;  // the same if a queue exists
constexpr double kLineLead = 1.75;     // of the bytes that arrived in a round trip
constexpr double kFarLead = 2;  // on a long line TCP starts slowly, so the rate follows the window late
constexpr double kLineGrowth = 1.2;
constexpr int kVainMax = 3;  // with busy hosts rates vary, and TCP's own start may be slower

}  // namespace

StartUp::Step StartUp::epoch(const Seen& seen) {
  const double best = std::exchange(best_rate_, std::max(best_rate_, seen.rate));
  if (seen.on_line) return on_line(seen, best);
  // If the rate grows with the window, the queue is at the readout's own uplink.
  if (seen.rate > best * (seen.queues ? kStartGrowth : kStartGain)) {
    vain_ = 0;
    return {Move::grow};
  }
  if (seen.queues) return {Move::shrink, true};
  const bool over = ++vain_ >= kVainMax;
  return {over ? Move::stay : Move::grow, over};
}

// The data of this round trip were requested with the previous window.
StartUp::Step StartUp::on_line(const Seen& seen, double best) {
  line_grows_ = seen.rate > best * kLineGrowth;
  if (!line_grows_) return {Move::stay, ++vain_ >= kVainMax};
  vain_ = 0;
  return {Move::follow, false, (seen.far ? kFarLead : kLineLead) * seen.line_bytes};
}

}  // namespace weir::shaping
