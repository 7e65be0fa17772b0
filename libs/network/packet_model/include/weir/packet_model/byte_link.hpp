#pragma once

#include <weir/packet_model/pull_network.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace weir::packet_model {

// A queue before a line of a rate that may change at set times. Packets leave in the order in which they
// enter, at times that are known as they enter: no event for a queue's own doings.
class ByteLink {
 public:
  explicit ByteLink(const LinkSpec& spec) : buffer_(spec.buffer_bytes), burst_(spec.burst_bytes) {
    for (const RateFrom& rate : spec.rates) {
      const double per_ns = rate.bits_per_s / 8e9;
      const double work = pieces_.empty() ? 0 : work_at(rate.from_ns);
      pieces_.push_back({static_cast<double>(rate.from_ns), work, per_ns});
    }
  }

  // Returns the time at which the packet has left; nullopt if the queue was full.
  [[nodiscard]] std::optional<TimeNs> enter(std::uint32_t wire_bytes, TimeNs now_ns) {
    const double work = work_at(now_ns);
    const double full = std::max(full_, work) + wire_bytes;
    if (buffer_ > 0) {
      const double waiting = std::max(0.0, full - wire_bytes - burst_ - work);
      if ((waiting + wire_bytes) * kCounted > buffer_ && waiting > 0) {
        ++drops_;
        return std::nullopt;
      }
    }
    full_ = full;
    return std::max(now_ns, time_of(std::max(work, full - burst_)));
  }
  // Passes a small packet that is never dropped.
  [[nodiscard]] TimeNs pass(std::uint32_t wire_bytes, TimeNs now_ns) {
    const double work = work_at(now_ns);
    full_ = std::max(full_, work) + wire_bytes;
    return std::max(now_ns, time_of(std::max(work, full_ - burst_)));
  }
  [[nodiscard]] std::uint64_t drops() const { return drops_; }
  [[nodiscard]] double queued(TimeNs now_ns) const { return std::max(0.0, full_ - burst_ - work_at(now_ns)); }

 private:
  // From this time the rate applies, and so many bytes could have passed before.
  struct Piece {
    double from_ns;
    double work;
    double per_ns;
  };
  static constexpr double kCounted = 1.0 - static_cast<double>(kUncountedOverhead) / 1538;

  [[nodiscard]] double work_at(TimeNs at_ns) const {
    const auto at = static_cast<double>(at_ns);
    const Piece* piece = &pieces_.back();
    while (piece != pieces_.data() && piece->from_ns > at) --piece;
    return piece->work + (at - piece->from_ns) * piece->per_ns;
  }
  [[nodiscard]] TimeNs time_of(double work) const {
    const Piece* piece = &pieces_.back();
    while (piece != pieces_.data() && piece->work > work) --piece;
    return static_cast<TimeNs>(std::ceil(piece->from_ns + (work - piece->work) / piece->per_ns));
  }

  std::vector<Piece> pieces_;
  double buffer_;
  double burst_;
  double full_ = 0;  // work at which all that has entered has left
  std::uint64_t drops_ = 0;
};

}  // namespace weir::packet_model
