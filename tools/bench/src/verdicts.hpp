#pragma once

#include <weir/bench/experiment.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace weir::bench {

// Returns the runs of the whole figure that are not judged: other programs held cores before or after one of
// their points, or all cores were in use during one. Full cores do not count if they are meant to be the
// limit, if the run had spinners, or if other programs were seen to leave them to a program of the figure's
// priority.
[[nodiscard]] std::set<std::uint32_t> busy_runs_of(const std::vector<ExperimentResult>& results,
                                                   const RunConditions& conditions);
// Returns the paper's statements with criterion and measured values, a row each, and whether the runs agree.
// Pure.
[[nodiscard]] std::string statements_text(const Experiment& experiment,
                                          const std::vector<ExperimentResult>& results, double scale,
                                          const RunConditions& conditions);

}  // namespace weir::bench
