#pragma once

#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::node {

// The groups of DCMs that a DCM's filter may forward to: names, and places in dcm.groups.
[[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> forward_groups(const v1::Farm& farm,
                                                                                const config::NodePlan& dcm);

}  // namespace weir::node
