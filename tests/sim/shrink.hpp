#pragma once

#include "scenario.hpp"

#include <string>

namespace weir::sim {

// Runs it in a separate process, because a failed assertion may end it.
[[nodiscard]] bool fails(const Scenario& scenario);
// Removes faults one by one as long as the run still fails; returns the minimal scenario.
[[nodiscard]] Scenario shrink(const Scenario& failing);
// `rates`: with which it was drawn.
void print_shrunk(const Scenario& failing, const std::string& rates);

}  // namespace weir::sim
