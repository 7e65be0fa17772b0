#pragma once

#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>

#include <cstdint>

namespace weir::config {

// What a farm's slices come to, in bytes: means where sizes vary, so good for sizing and not for limits.
// Sources that are masked do not count.
struct ExpectedSizes {
  std::uint64_t fragment = 0;      // mean
  std::uint64_t fragment_max = 0;  // largest; 0 where there is no telling
  std::uint64_t slice = 0;         // mean, or the largest of recorded data
};

// Of readouts of one kind: `slice` is what they all have of it. `recorded`: what they replay, if they do.
[[nodiscard]] ExpectedSizes expected_sizes(const NodeFarms::Kind& readouts, const FarmPlan& plan,
                                           const ReplayContents& recorded);
// Of the whole farm; a recording that cannot be read counts as empty.
[[nodiscard]] ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan,
                                           const ReplayReader& replay);

}  // namespace weir::config
