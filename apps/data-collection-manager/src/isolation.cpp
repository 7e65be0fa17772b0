#include "isolation.hpp"

namespace weir::dcm {

void Isolation::enter(Phase phase, TimeNs now_ns) {
  phase_ = phase;
  since_ns_ = now_ns;
}

void Isolation::returned(std::uint64_t token) {
  if (current_ && current_->token == token) returned_ = true;
}

void Isolation::clear() {
  waiting_.clear();
  current_.reset();
  phase_ = Phase::open;
}

Isolation::Step Isolation::step(TimeNs now_ns, std::size_t with_units) {
  const bool patient = now_ns - since_ns_ < patience_ns_;
  switch (phase_) {
    case Phase::open:
      if (waiting_.empty()) return {};
      enter(Phase::draining, now_ns);
      return step(now_ns, with_units);
    case Phase::draining:
      if (with_units > 0 && patient) return {};
      current_ = waiting_.front();
      waiting_.pop_front();
      alone_ = with_units == 0;
      returned_ = false;
      enter(Phase::telling, now_ns);
      return {true, std::nullopt};
    case Phase::telling:
      if (answered_ != told_) return {};
      enter(Phase::alone, now_ns);
      return {false, current_};
    case Phase::alone:
      if (!returned_ && patient) return {};
      current_.reset();
      enter(Phase::lifting, now_ns);
      return {true, std::nullopt};
    case Phase::lifting:
      if (answered_ != told_) return {};
      enter(Phase::open, now_ns);
      return step(now_ns, with_units);
  }
  return {};
}

}  // namespace weir::dcm
