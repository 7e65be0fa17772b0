#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// At what rate a long line brings data, bytes per ns, before it is full: what comes without a pause of
// network or host comes at the line's pace, however little of it there is in a round trip. The best stretch
// of late counts. Pure.
class LineRate {
 public:
  // So many bytes came since the pass before this one.
  void note(std::uint64_t bytes, TimeNs before_ns, TimeNs now_ns);
  // An epoch is over: what was seen counts a little less.
  void fade();
  [[nodiscard]] double rate() const { return rate_; }  // 0: no stretch was seen

 private:
  TimeNs since_ns_ = 0;
  std::uint64_t bytes_ = 0;
  double rate_ = 0;
};

}  // namespace weir::shaping
