#pragma once

#include <weir/base/time.hpp>

namespace weir::shaping {

// Whether more segments were lost of late than a smaller window would cost. A port that overflows loses many;
// a line that damages one in ten thousand does not, and a smaller window would be no help there. Pure.
class Losses {
 public:
  // So many segments were sent once more. `came`: segments that come within `within_ns`, for which losses are
  // added up. True: they are too many.
  [[nodiscard]] bool note(double segments, double came, DurationNs within_ns, TimeNs now_ns);
  // A smaller window brought less than the losses had cost: for a while only many of them count, each time
  // for twice as long.
  void tolerate(TimeNs now_ns);
  // A connection stood still until TCP's timeout: nothing is worth that.
  void tolerate_no_more() { tolerated_until_ns_ = 0; }

 private:
  double segments_ = 0;
  TimeNs since_ns_ = 0;
  DurationNs tolerated_ns_ = 2 * kSecond;  // the last time; half of the first one
  TimeNs tolerated_until_ns_ = 0;
};

}  // namespace weir::shaping
