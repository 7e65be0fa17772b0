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
  std::uint64_t placed = 0;        // memory that it takes in a DCM: fragments are placed at multiples of 8
};

// Returns the smallest memory of a DCM that holds one slice whatever its fragments leave unused of the
// memory's blocks.
[[nodiscard]] std::uint64_t dcm_buffer_min(const ExpectedSizes& sizes);
// Returns the part of a DCM's memory that new slices are begun in; the rest is for those that are larger than
// expected.
[[nodiscard]] constexpr std::uint64_t dcm_buffer_planned(std::uint64_t bytes) { return bytes / 8 * 7; }

// Of readouts of one kind: `slice` is what they all have of it. `recorded`: what they replay, if they do.
[[nodiscard]] ExpectedSizes expected_sizes(const NodeFarms::Kind& readouts, const FarmPlan& plan,
                                           const ReplayContents& recorded);
// Of the whole farm; a recording that cannot be read counts as empty.
[[nodiscard]] ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan,
                                           const ReplayReader& replay);

}  // namespace weir::config
