#pragma once

#include "scenario.hpp"

#include <string>

namespace weir::sim {

// Runs it in a process of its own, for it may end in a failed assertion.
[[nodiscard]] bool fails(const Scenario& scenario);
// Faults whose absence lets the run fail all the same are left out, one by one, until none can be.
[[nodiscard]] Scenario shrink(const Scenario& failing);
// `rates`: with which it was drawn.
void print_shrunk(const Scenario& failing, const std::string& rates);

}  // namespace weir::sim
