#pragma once

#include <weir/bench/changing_farm.hpp>

#include <string>

namespace weir::bench {

// Runs Fig. 8 in a lab, with its files in `folder`. Errors: std::runtime_error with a message.
[[nodiscard]] ChangingFarmResult measure_remote_nodes(const ChangingFarmOptions& options,
                                                      const std::string& folder);

}  // namespace weir::bench
