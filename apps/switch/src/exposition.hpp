#pragma once

#include <weir/packet_switch/packet_switch.hpp>

#include <string>

namespace weir::switch_node {

// Formats the counters as Prometheus' text; docs/switching.md lists the metrics.
[[nodiscard]] std::string prometheus_text(const std::string& name, const switching::SwitchSettings& settings,
                                          const packet_switch::SwitchCounts& counts);

// Formats them for people: totals, drops by reason, and the ports and rings.
[[nodiscard]] std::string summary_text(const std::string& name, const switching::SwitchSettings& settings,
                                       const packet_switch::SwitchCounts& counts, double seconds);

// Returns the frames that were dropped for lack of room: in queues, in the kernel, at an interface.
[[nodiscard]] std::uint64_t lost_frames(const packet_switch::SwitchCounts& counts);

}  // namespace weir::switch_node
