#pragma once

#include <weir/base/time.hpp>

#include <cstdint>

namespace weir::shaping {

// The rate of a long line, bytes per ns, before it is full: data that arrive without a pause of network or
// host arrive at the line's rate, however few they are per round trip. The best recent stretch is used. Pure.
class LineRate {
 public:
  // This many bytes arrived since the previous pass.
  void note(std::uint64_t bytes, TimeNs before_ns, TimeNs now_ns);
  // Ends an epoch: earlier measurements lose some weight.
  void fade();
  [[nodiscard]] double rate() const { return rate_; }  // 0: nothing measured

 private:
  TimeNs since_ns_ = 0;
  std::uint64_t bytes_ = 0;
  double rate_ = 0;
};

}  // namespace weir::shaping
