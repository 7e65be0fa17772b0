#pragma once

#include "weir_catch.hpp"
#include <weir/base/transitions.hpp>

#include <cstddef>
#include <set>

namespace weir::test {

// Checks that every transition leads to a later state, that each of `states` is reachable from `first`, and
// that `last` is final.
template <class State, std::size_t kCount>
void check_one_way(const Transitions<State, kCount>& transitions, State first, State last,
                   std::size_t states) {
  std::set<State> reached{first};
  for (const Transition<State>& one : transitions) {
    CHECK(one.from < one.to);
    CHECK(one.from != last);
    reached.insert(one.to);
  }
  CHECK(reached.size() == states);
}

}  // namespace weir::test
