#pragma once

#include <weir/base/assert.hpp>
#include <weir/base/transitions.hpp>

namespace weir::storage {

// The one place that changes the state of a RunStore. `State`: RunStore's own.
template <class State>
void enter(State& state, State to) {
  // A finished store may look at its files once more.
  static constexpr Transitions kAllowed({
      Transition<State>{State::idle, State::starting},
      {State::starting, State::open},
      {State::starting, State::closing},
      {State::starting, State::failed},
      {State::open, State::closing},
      {State::closing, State::finished},
      {State::finished, State::closing},
  });
  WEIR_ASSERT(kAllowed.allow(state, to));
  state = to;
}

}  // namespace weir::storage
