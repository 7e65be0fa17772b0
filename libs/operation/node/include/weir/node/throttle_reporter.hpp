#pragma once

#include <weir/slice_rows/reasons.hpp>
#include <weir/v1/control.pb.h>

#include <cmath>
#include <optional>

namespace weir::node {

// Decides when a node reports its fill level to the supervisor: when it stops or resumes, and when the level
// has changed by a twentieth. One per connection.
class ThrottleReporter {
 public:
  // Returns the message to send now, if any.
  [[nodiscard]] std::optional<v1::Control> look(bool on, slice_rows::HoldReason reason, double level) {
    const bool moved = std::abs(level - level_) >= kStep || (level <= 0 && level_ > 0);
    if (on == on_ && !moved && (!on || reason == reason_)) return std::nullopt;
    on_ = on;
    level_ = level;
    reason_ = reason;
    v1::Control message;
    message.mutable_throttle()->set_on(on);
    message.mutable_throttle()->set_reason(std::string(name(reason)));
    message.mutable_throttle()->set_level(level);
    return message;
  }
  // A new connection starts without a reported state.
  void forget() { *this = {}; }

 private:
  static constexpr double kStep = 0.05;
  bool on_ = false;
  double level_ = 0;
  slice_rows::HoldReason reason_ = slice_rows::HoldReason::none;
};

}  // namespace weir::node
