#pragma once

#include <weir/base/time.hpp>

#include <algorithm>
#include <cstdint>

namespace weir::switching {

// The rate at which a ring is emptied: up to `burst_bytes` at once, `bits_per_s` in the long run; bytes on
// the wire. Jereczek's limit of b packets in an interval t (2017, section 5.4.1.3) is b * 1538 bytes, and
// this over t. Pure.
class LeakyBucket {
 public:
  LeakyBucket() = default;  // no limit
  LeakyBucket(std::uint64_t bits_per_s, std::uint64_t burst_bytes)
      : ns_per_byte_(bits_per_s == 0
                         ? 0
                         : kBitsPerByte * static_cast<double>(kSecond) / static_cast<double>(bits_per_s)),
        burst_ns_(ns_per_byte_ * static_cast<double>(burst_bytes)) {}

  // Returns when a frame of this length may leave. One that is longer than the burst waits until all earlier
  // ones are paid for.
  [[nodiscard]] TimeNs ready_ns(std::uint64_t wire_bytes) const {
    return static_cast<TimeNs>(paid_ns_ + std::min(cost_ns(wire_bytes) - burst_ns_, 0.0));
  }
  // Takes a frame. Requires: it was ready.
  void take(TimeNs now_ns, std::uint64_t wire_bytes) {
    paid_ns_ = std::max(paid_ns_, static_cast<double>(now_ns)) + cost_ns(wire_bytes);
  }

 private:
  static constexpr double kBitsPerByte = 8;

  [[nodiscard]] double cost_ns(std::uint64_t wire_bytes) const {
    return ns_per_byte_ * static_cast<double>(wire_bytes);
  }

  double ns_per_byte_ = 0;
  double burst_ns_ = 0;
  double paid_ns_ = 0;  // when the rate has paid for the frames that left
};

}  // namespace weir::switching
