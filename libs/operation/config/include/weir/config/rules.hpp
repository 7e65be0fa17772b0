#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/problem.hpp>
#include <weir/control/rules.hpp>
#include <weir/v1/farm.pb.h>

#include <vector>

namespace weir::config {

// Returns the farm file's `control.rules` for run control. Errors: every problem, such as unknown words for
// `when`, unknown processes, or actions that a condition does not support. Called by validate().
[[nodiscard]] Expected<std::vector<control::Rule>, Problems> read_rules(const v1::Farm& farm,
                                                                        const FarmPlan& plan,
                                                                        const Locations& locations = {});

}  // namespace weir::config
