#pragma once

#include <weir/base/time.hpp>

namespace weir::assignment {

struct GateMarks {
  double low = 1;   // of the fullest buffer, 0 to 1: below, every trigger is accepted; 1: always
  double high = 1;  // from here on none is; no lower than `low`
};

// Lowers the rate of triggers before a buffer is full, and not on and off: between the watermarks the share
// of time in which triggers are accepted falls from 1 to 0 in proportion. In each period the gate is open for
// its share of it, from its begin on. The period is short against what fills a buffer, and no simple fraction
// of a second, so that triggers by the clock do not fall into the same part of it again and again. Pure.
class TriggerGate {
 public:
  static constexpr DurationNs kPeriodNs = 7'310'359;

  explicit TriggerGate(GateMarks marks) : marks_(marks) {}

  // Of the time; 0 to 1.
  [[nodiscard]] double share(double level) const;
  // Asked for each trigger, and mostly it is.
  [[nodiscard]] bool is_open(double level, TimeNs now) const {
    return level < marks_.low || is_open_in_period(share(level), now);
  }
  // When it opens next, at this level: now when it is open. With a share of 0, the end of the period: look
  // again.
  [[nodiscard]] TimeNs opens_at(double level, TimeNs now) const;

 private:
  [[nodiscard]] static bool is_open_in_period(double share, TimeNs now);

  GateMarks marks_;
};

}  // namespace weir::assignment
