#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/network.hpp>
#include <weir/run/farm_command.hpp>

#include <string>

namespace weir::bench {

// One run of a farm in a lab, in a thread of its own. What is in the run's folder before goes. The error is a
// sentence; it begins with "SIG" when a signal ended the run.
[[nodiscard]] Expected<NetworkRun, std::string> measure_farm(const run::RunOptions& options);

}  // namespace weir::bench
