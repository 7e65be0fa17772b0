#include <weir/assignment/trigger_gate.hpp>

namespace weir::assignment {
namespace {

DurationNs phase_of(TimeNs now) {
  return (now % TriggerGate::kPeriodNs + TriggerGate::kPeriodNs) % TriggerGate::kPeriodNs;
}

}  // namespace

double TriggerGate::share(double level) const {
  if (level < marks_.low || marks_.low >= 1) return 1;
  if (level >= marks_.high) return 0;
  return (marks_.high - level) / (marks_.high - marks_.low);
}

bool TriggerGate::is_open_in_period(double share, TimeNs now) {
  return share >= 1 || static_cast<double>(phase_of(now)) < share * static_cast<double>(kPeriodNs);
}

TimeNs TriggerGate::opens_at(double level, TimeNs now) const {
  return is_open(level, now) ? now : now + kPeriodNs - phase_of(now);
}

}  // namespace weir::assignment
