#pragma once

#include <span>
#include <string>
#include <vector>

namespace weir::reports {

// Returns each text once, in the order of the first, with the number of its repetitions: "dcm-0 stalled: 1
// slice taken from it (59 times)".
[[nodiscard]] std::vector<std::string> merged(std::span<const std::string> texts);

}  // namespace weir::reports
