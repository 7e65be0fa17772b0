#pragma once

#include "options.hpp"

#include <string>

namespace weir::sim {

// Throws std::runtime_error if the bug is unknown or the build has none.
void plant(const std::string& bug);
// Counts for each planted bug ("all"), or for those of front-ends and planes ("ways"), the seeds until it is
// found, and prints a table with the kind of farms. Returns 0 if each was found within the options' seeds.
[[nodiscard]] int find_planted(const Options& options);

}  // namespace weir::sim
