#pragma once

#include "world.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::protocol_test {

struct Found {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;    // looked at, from all states
  std::uint64_t ends = 0;     // states from which nothing but faults can come
  std::uint64_t longest = 0;  // steps in a row, at most
  std::string broken;         // the first promise that did not hold; empty when all do
  std::vector<Move> way;      // the steps that led there
  bool complete = true;       // false: states_max was reached
};

// Every order in which everything can happen, depth first; a state that was seen before is not looked at
// again. Two states are the same when 128 bits of their hash are.
[[nodiscard]] Found search(const Scenario& scenario, std::uint64_t states_max);

// One line for each step.
[[nodiscard]] std::string describe(const std::vector<Move>& way);

}  // namespace weir::protocol_test
