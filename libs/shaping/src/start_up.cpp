#include "start_up.hpp"

#include <algorithm>
#include <utility>

namespace weir::shaping {
namespace {

// Less growth of the rate than this, for a window kFactor larger: the port is full.
constexpr double kStartGain = 1.04;
constexpr double kStartGrowth = 1.15;  // ... where a queue stands
constexpr double kLineLead = 1.75;     // of what the line has brought in a round trip
constexpr double kFarLead = 2;  // TCP begins slowly on a long one: the rate shows late what a window brings
constexpr double kLineGrowth = 1.2;
constexpr int kVainMax = 3;  // where hosts are busy rates come and go, and TCP's own start may be slower

}  // namespace

StartUp::Step StartUp::epoch(const Seen& seen) {
  const double best = std::exchange(best_rate_, std::max(best_rate_, seen.rate));
  if (seen.on_line) return on_line(seen, best);
  // What waits while the rate grows with the window waits on its own uplink.
  if (seen.rate > best * (seen.queues ? kStartGrowth : kStartGain)) {
    vain_ = 0;
    return {Move::grow};
  }
  if (seen.queues) return {Move::shrink, true};
  const bool over = ++vain_ >= kVainMax;
  return {over ? Move::stay : Move::grow, over};
}

// What came in this round trip was asked for with the window of the one before.
StartUp::Step StartUp::on_line(const Seen& seen, double best) {
  line_grows_ = seen.rate > best * kLineGrowth;
  if (!line_grows_) return {Move::stay, ++vain_ >= kVainMax};
  vain_ = 0;
  return {Move::follow, false, (seen.far ? kFarLead : kLineLead) * seen.line_bytes};
}

}  // namespace weir::shaping
