#pragma once

#include <weir/bench/experiment.hpp>

#include <cstdint>
#include <limits>
#include <vector>

// Parts of the table of the thesis' figures.
namespace weir::bench {

inline constexpr double kSegmentKb = 1.448;
// Of a criterion without this bound.
inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// A window that lets a readout send its whole response at once: the thesis switches congestion control off
// where it tests pause frames and rings.
inline constexpr std::uint32_t kWholeResponse = 100;
inline constexpr const char* kModernTcp =
    " Today's TCP repairs most losses without a timeout (SACK, RACK, tail-loss probes). The thesis switches "
    "SACK "
    "off for most of its tests (section 3.5.2); it does not name the hosts' kernel, and RACK and tail-loss "
    "probes are newer than "
    "the "
    "Scientific Linux 6 that it mentions.";

// The thesis' cures, with a congestion window in segments and a quota in fragments.
[[nodiscard]] inline Cure plain_tcp() { return {.label = "TCP Cubic", .cubic = true}; }
[[nodiscard]] inline Cure static_window(std::uint32_t segments) {
  return {.label = "static TCP", .segments = segments};
}
[[nodiscard]] inline Cure shaping(double quota) {
  return {.label = "traffic shaping", .shaper = "fragment-credits", .quota = quota};
}
[[nodiscard]] inline Cure pause_frames() {
  return {.label = "pause frames", .segments = kWholeResponse, .kept = true, .back_pressure = "pause"};
}

// The hosts have the thesis' static window, and all statements are about it.
inline void with_static_window(Experiment& figure) {
  figure.tcps = {Tcp::thesis, Tcp::old_tcp};
  for (Expectation& expectation : figure.expectations) expectation.tcp = Tcp::thesis;
}

// Hosts with a readout and DCMs each (figure 4.12).
[[nodiscard]] ExperimentSetting all_to_all();
// Readouts at one switch, DCMs at another, an uplink in between (figure 4.14).
[[nodiscard]] ExperimentSetting behind_uplink();
// Figure 6.7a with one plane: six readouts and six hosts with eight DCMs each, at two leaves.
[[nodiscard]] ExperimentSetting leaves_and_spines();

// Returns the figures that show a network over time: 4.2, 4.6, 4.7 and 4.10.
[[nodiscard]] std::vector<Experiment> thesis_traces();
// Returns those of pause frames and of the shared uplink: 4.13, 4.15, 4.16 and 4.17.
[[nodiscard]] std::vector<Experiment> thesis_links();
// Returns those of software switches: 5.8, 5.10 and 6.8.
[[nodiscard]] std::vector<Experiment> thesis_rings();
// Returns those of parallel planes: 6.9 and 6.10.
[[nodiscard]] std::vector<Experiment> thesis_planes();
// Returns those that compare rings with other cures: 5.13, 7.4 and 7.8.
[[nodiscard]] std::vector<Experiment> thesis_comparisons();

}  // namespace weir::bench
