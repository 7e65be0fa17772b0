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
// Whether `dcm` fetches slices from `keeper`, which forwards them to its group.
[[nodiscard]] bool is_fetched_by(const v1::Farm& farm, const config::NodePlan& keeper,
                                 const config::NodePlan& dcm);
// By place in dcm.groups: whether its DCMs fetch slices from the DCMs that forward them.
[[nodiscard]] std::vector<bool> fetching_groups(const v1::Farm& farm);

}  // namespace weir::node
