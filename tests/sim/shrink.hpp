#pragma once

#include "scenario.hpp"

namespace weir::sim {

// Runs it in a process of its own, for it may end in a failed assertion.
[[nodiscard]] bool fails(const Scenario& scenario);
// Faults whose absence lets the run fail all the same are left out, one by one, until none can be.
[[nodiscard]] Scenario shrink(const Scenario& failing);
void print_shrunk(const Scenario& failing);

}  // namespace weir::sim
