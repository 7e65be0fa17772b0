#pragma once

#include <weir/base/time.hpp>

namespace weir::assignment {

struct GateMarks {
  double low = 1;   // level of the fullest buffer, 0 to 1: below, every trigger is accepted; 1: always
  double high = 1;  // level from which no trigger is accepted; at least `low`
};

// Lowers the rate of triggers before a buffer is full, gradually: between the watermarks the share of time in
// which triggers are accepted falls linearly from 1 to 0. In each period the gate is open for its share, from
// the beginning of the period. The period is short compared with the time to fill a buffer, and not a simple
// fraction of a second, so that clock triggers do not always fall into the same part of it. Pure.
class TriggerGate {
 public:
  static constexpr DurationNs kPeriodNs = 7'310'359;

  explicit TriggerGate(GateMarks marks) : marks_(marks) {}

  // Share of time with an open gate, 0 to 1.
  [[nodiscard]] double share(double level) const;
  // Called for each trigger; usually true.
  [[nodiscard]] bool is_open(double level, TimeNs now) const {
    return level < marks_.low || is_open_in_period(share(level), now);
  }
  // Returns when the gate opens next at this level: now if it is open. With a share of 0, the end of the
  // period, for another check.
  [[nodiscard]] TimeNs opens_at(double level, TimeNs now) const;

 private:
  [[nodiscard]] static bool is_open_in_period(double share, TimeNs now);

  GateMarks marks_;
};

}  // namespace weir::assignment
