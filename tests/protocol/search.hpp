#pragma once

#include "world.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::protocol_test {

struct Found {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;    // looked at, from all states
  std::uint64_t ends = 0;     // states in which only faults can happen
  std::uint64_t longest = 0;  // steps in a row, at most
  std::string broken;         // the first broken promise; empty if all hold
  std::vector<Move> way;      // the steps that led there
  bool complete = true;       // false: states_max was reached
};

// Explores all orders of all events depth first, each state once. States are compared by 128 bits of their
// hash.
[[nodiscard]] Found search(const Scenario& scenario, std::uint64_t states_max);

// One line for each step.
[[nodiscard]] std::string describe(const std::vector<Move>& way);

}  // namespace weir::protocol_test
