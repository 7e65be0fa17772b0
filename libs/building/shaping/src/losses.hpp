#pragma once

#include "tuning.hpp"
#include <weir/base/time.hpp>

namespace weir::shaping {

// Decides whether more segments were lost recently than a smaller window would cost. An overflowing port
// loses many; a line that damages one in ten thousand does not, and a smaller window would not help there.
// Pure.
class Losses {
 public:
  // This many segments were retransmitted. `came`: segments that arrive within `within_ns`, over which losses
  // are added up. Returns true if they are too many.
  [[nodiscard]] bool note(double segments, double came, DurationNs within_ns, TimeNs now_ns);
  // A smaller window had a lower rate than the losses cost: for a while only many losses count, each time for
  // twice as long.
  void tolerate(TimeNs now_ns);
  // A connection stalled until TCP's timeout: such losses are never tolerated.
  void tolerate_no_more() { tolerated_until_ns_ = 0; }

 private:
  double segments_ = 0;
  TimeNs since_ns_ = 0;
  DurationNs tolerated_ns_ = tuning::kFew * kSecond / 2;  // last duration
  TimeNs tolerated_until_ns_ = 0;
};

}  // namespace weir::shaping
