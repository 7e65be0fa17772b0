#pragma once

#include <weir/config/plan.hpp>

namespace weir::config {

// What a farm's slices come to, in bytes: means where sizes vary, so good for sizing and not for limits.
struct ExpectedSizes {
  std::uint64_t fragment = 0;      // mean
  std::uint64_t fragment_max = 0;  // largest; 0 where there is no telling
  std::uint64_t slice = 0;         // mean, or the largest of recorded data
};

[[nodiscard]] ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan,
                                           const ReplayContents& recorded);

}  // namespace weir::config
