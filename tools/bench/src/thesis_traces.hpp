#pragma once

#include <weir/bench/experiment.hpp>

#include <cstdint>
#include <vector>

namespace weir::bench {

inline constexpr double kSegmentKb = 1.448;

// The thesis' cures, with a congestion window in segments and a quota in fragments.
[[nodiscard]] inline Cure static_window(std::uint32_t segments) {
  return {.label = "static TCP", .segments = segments};
}
[[nodiscard]] inline Cure shaping(double quota) {
  return {.label = "traffic shaping", .shaper = "fragment-credits", .quota = quota};
}

// Returns the thesis' figures that show a network over time: 4.2, 4.6, 4.7 and 4.10.
[[nodiscard]] std::vector<Experiment> thesis_traces();

}  // namespace weir::bench
