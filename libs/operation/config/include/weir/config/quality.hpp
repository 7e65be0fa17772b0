#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/control/quality.hpp>
#include <weir/v1/farm.pb.h>

#include <vector>

namespace weir::config {

// Returns the farm file's `control.quality`. Errors: every problem, such as a check without a condition.
// Called by validate().
[[nodiscard]] Expected<std::vector<control::QualityCheck>, Problems> read_quality(
    const v1::Farm& farm, const Locations& locations = {});

}  // namespace weir::config
