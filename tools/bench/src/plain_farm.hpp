#pragma once

#include <weir/base/expected.hpp>
#include <weir/run/farm_run.hpp>

#include <string>

namespace weir::bench {

// Runs the farm of a farm file's text on this machine, with its logs in `folder`. The result has an account
// that balances. Requires: `folder` exists.
[[nodiscard]] Expected<run::FarmRunResult, std::string> run_plain_farm(const std::string& text,
                                                                       const std::string& folder);

}  // namespace weir::bench
