#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/failover.hpp>
#include <weir/run/farm_command.hpp>
#include <weir/run_record/summary.hpp>

#include <string>

namespace weir::bench {

// As summary_of_lab_run(), and takes the processes' reports for `seconds` of the run of this farm. Throws
// std::runtime_error if the farm ends before.
[[nodiscard]] Expected<run_record::Summary, std::string> watch_lab_run(const run::RunOptions& options,
                                                                       const std::string& farm,
                                                                       double seconds, FailoverTrace& trace);

}  // namespace weir::bench
