#pragma once

#include <weir/assignment/reasons.hpp>
#include <weir/v1/control.pb.h>

#include <cmath>
#include <optional>

namespace weir::node {

// What a node tells the supervisor of how full it is: when it stops or goes on, and when the level has moved
// by a twentieth. One for each connection.
class ThrottleTeller {
 public:
  // What is to be said now, if anything.
  [[nodiscard]] std::optional<v1::Control> look(bool on, assignment::Reason reason, double level) {
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
  // The next connection knows nothing.
  void forget() { *this = {}; }

 private:
  static constexpr double kStep = 0.05;
  bool on_ = false;
  double level_ = 0;
  assignment::Reason reason_ = assignment::Reason::none;
};

}  // namespace weir::node
