#pragma once

#include "options.hpp"
#include "sim_farm.hpp"

namespace weir::sim {

// Runs one scenario in this process. Does not catch its exceptions.
[[nodiscard]] Outcome run_scenario(const Scenario& scenario, bool trace);
// Runs the seeds of the options and prints the results. Returns the exit status: 0 if no seed failed.
[[nodiscard]] int run_seeds(const Options& options);

}  // namespace weir::sim
