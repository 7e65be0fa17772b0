#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/problem.hpp>
#include <weir/control/rules.hpp>
#include <weir/v1/farm.pb.h>

#include <vector>

namespace weir::config {

// The farm file's `control.rules`, for run control. On failure every problem: words that are none of
// `when`, processes that the farm does not have, actions that a condition has nothing for. validate() calls
// it.
[[nodiscard]] Expected<std::vector<control::Rule>, Problems> read_rules(const v1::Farm& farm,
                                                                        const FarmPlan& plan,
                                                                        const Locations& locations = {});

}  // namespace weir::config
