#pragma once

#include "options.hpp"

namespace weir::packet_model {

// The networks with names, or one of them, with each shaper: prints a table. The exit status.
int run_cases(const Options& options);
void print_header();
// A line for each shaper.
void print_runs(const PullNetwork& network, const Options& options);

}  // namespace weir::packet_model
