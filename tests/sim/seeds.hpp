#pragma once

#include "options.hpp"
#include "sim_farm.hpp"

namespace weir::sim {

// Runs one scenario in this process; what it throws is its problem.
[[nodiscard]] Outcome run_scenario(const Scenario& scenario, bool trace);
// Runs what the options say, prints it, and returns the exit status: 0 when no seed failed.
[[nodiscard]] int run_seeds(const Options& options);

}  // namespace weir::sim
