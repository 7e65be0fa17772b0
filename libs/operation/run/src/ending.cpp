#include <weir/run/ending.hpp>

namespace weir::run {

void Ending::settle(TimeNs now) {
  if (state_ != State::none) return;
  state_ = State::settled;
  until_ns_ = now + kOwnPatience;
}

void Ending::terminate(TimeNs now) {
  if (state_ != State::none && state_ != State::settled) return;
  state_ = State::to_terminate;
  until_ns_ = now;
}

void Ending::kill() { state_ = State::killed; }

Ending::Push Ending::due(TimeNs now) {
  if (state_ == State::killed) return Push::kill;
  if (state_ == State::none || now < until_ns_) return Push::none;
  if (state_ == State::terminated) {
    state_ = State::killed;
    return Push::kill;
  }
  state_ = State::terminated;
  until_ns_ = now + kTermPatience;
  return Push::terminate;
}

}  // namespace weir::run
