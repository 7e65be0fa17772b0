#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/control/hooks.hpp>
#include <weir/v1/farm.pb.h>

#include <vector>

namespace weir::config {

// Returns the farm file's `control.hooks` for run control. Errors: every problem, such as unknown words for
// `at`, or too long a limit for a hook that may refuse. Called by validate().
[[nodiscard]] Expected<std::vector<control::Hook>, Problems> read_hooks(const v1::Farm& farm,
                                                                        const Locations& locations = {});

}  // namespace weir::config
