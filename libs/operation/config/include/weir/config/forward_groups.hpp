#pragma once

#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::config {

// The groups of DCMs that a DCM's filter may forward to: names, and places in dcm.groups.
[[nodiscard]] std::vector<std::pair<std::string, std::uint32_t>> forward_groups(const v1::Farm& farm,
                                                                                const NodePlan& dcm);
// Whether `dcm` fetches slices from `keeper`, which forwards them to its group.
[[nodiscard]] bool is_fetched_by(const v1::Farm& farm, const NodePlan& keeper, const NodePlan& dcm);
// By place in dcm.groups: whether its DCMs fetch slices from the DCMs that forward them.
[[nodiscard]] std::vector<bool> fetching_groups(const v1::Farm& farm);

}  // namespace weir::config
