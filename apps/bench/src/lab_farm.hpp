#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/network.hpp>
#include <weir/run/farm_command.hpp>

#include <string>

namespace weir::bench {

// Runs a farm once in a lab, in a separate thread. Removes earlier contents of the run's folder. Errors are
// messages, which begin with "SIG" if a signal ended the run.
[[nodiscard]] Expected<NetworkRun, std::string> measure_farm(const run::RunOptions& options);

}  // namespace weir::bench
