#pragma once

#include "options.hpp"

#include <string>

namespace weir::sim {

// Throws std::runtime_error when there is no such bug, or the build has none.
void plant(const std::string& bug);
// Each planted bug in turn: how many seeds it takes to find it. Prints a table; the exit status is 0 when
// each was found within the options' seeds.
[[nodiscard]] int find_planted(const Options& options);

}  // namespace weir::sim
