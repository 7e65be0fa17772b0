#pragma once

#include "options.hpp"

namespace weir::packet_model {

// The networks of seeds, each with all shapers. The exit status: 1 if a seed is beyond the limits.
int run_search(const Options& options);

}  // namespace weir::packet_model
