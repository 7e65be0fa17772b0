#pragma once

#include <weir/bench/experiment.hpp>

#include <string>
#include <vector>

namespace weir::bench {

// Returns the paper's statements with criterion and measured values, a row each, and whether the runs agree.
// Pure.
[[nodiscard]] std::string statements_text(const Experiment& experiment,
                                          const std::vector<ExperimentResult>& results, double scale,
                                          const RunConditions& conditions);

}  // namespace weir::bench
