#include "isolation.hpp"

#include <weir/base/assert.hpp>

namespace weir::dcm {

void Isolation::enter(Phase phase, TimeNs now_ns) {
  WEIR_ASSERT(phase ==
              (phase_ == Phase::lifting ? Phase::open : static_cast<Phase>(static_cast<int>(phase_) + 1)));
  phase_ = phase;
  since_ns_ = now_ns;
}

// A slice that was in a filter when its DCM died is to be alone until it returns, or its DCM dies again.
bool Isolation::is_patient(TimeNs now_ns) const {
  constexpr int kLonger = 3;
  const bool longer = phase_ == Phase::alone && current_->assignment.kills > 0;
  return now_ns - since_ns_ < (longer ? kLonger : 1) * patience_ns_;
}

void Isolation::returned(const assembly::BuiltSlice& slice) {
  if (current_ == &slice) returned_ = true;
}

void Isolation::clear() {
  current_ = nullptr;
  phase_ = Phase::open;
}

Isolation::Step Isolation::step(TimeNs now_ns, std::size_t with_units, assembly::BuiltSlice* waiting) {
  const bool waits = with_units >= units_ || is_patient(now_ns);
  switch (phase_) {
    case Phase::open:
      if (waiting == nullptr) return {};
      enter(Phase::draining, now_ns);
      return step(now_ns, with_units, waiting);
    case Phase::draining:
      if (waiting == nullptr) {
        clear();  // the suspect was released
        return {};
      }
      if (with_units > 0 && waits) return {};
      current_ = waiting;
      returned_ = false;
      enter(Phase::telling, now_ns);
      return {true, nullptr};
    case Phase::telling:
      if (answered_ != told_) return {};
      enter(Phase::alone, now_ns);
      return {false, current_};
    case Phase::alone:
      if (!returned_ && waits) return {};
      current_ = nullptr;
      enter(Phase::lifting, now_ns);
      return {true, nullptr};
    case Phase::lifting:
      if (answered_ != told_) return {};
      enter(Phase::open, now_ns);
      return step(now_ns, with_units, waiting);
  }
  return {};
}

}  // namespace weir::dcm
