#pragma once

#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>

#include <cstdint>

namespace weir::config {

// Expected sizes of a farm's slices, in bytes. They are means where sizes vary: suitable for sizing, not as
// limits. Masked sources do not count.
struct ExpectedSizes {
  std::uint64_t fragment = 0;      // mean
  std::uint64_t fragment_max = 0;  // largest; 0 if unknown
  std::uint64_t slice = 0;         // mean, or the largest of recorded data
  std::uint64_t placed = 0;        // memory of a slice in a DCM: fragments are placed at multiples of 8
};

// Returns the smallest memory of a DCM that holds one slice, whatever its fragments leave unused in the
// memory's blocks.
[[nodiscard]] std::uint64_t dcm_buffer_min(const ExpectedSizes& sizes);
// Returns the part of a DCM's memory in which new slices are begun; the rest is for slices larger than
// expected.
[[nodiscard]] constexpr std::uint64_t dcm_buffer_planned(std::uint64_t bytes) { return bytes / 8 * 7; }

// Returns the sizes for readouts of one kind; `slice` is the part of all of them together. `recorded`: the
// data that they replay, if they do.
[[nodiscard]] ExpectedSizes expected_sizes(const NodeFarms::Kind& readouts, const FarmPlan& plan,
                                           const ReplayContents& recorded);
// Returns the sizes for the whole farm; an unreadable recording counts as empty.
[[nodiscard]] ExpectedSizes expected_sizes(const v1::Farm& farm, const FarmPlan& plan,
                                           const ReplayReader& replay);

}  // namespace weir::config
