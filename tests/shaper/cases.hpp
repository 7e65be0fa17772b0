#pragma once

#include <weir/packet_model/pull_network.hpp>

#include <string_view>
#include <vector>

namespace weir::packet_model {

// Named networks, each difficult for a shaper in a different way.
[[nodiscard]] std::vector<PullNetwork> cases();
// Throws std::runtime_error for an unknown name.
[[nodiscard]] PullNetwork case_named(std::string_view name);

// The CPU of a host that compiles on all its cores.
[[nodiscard]] Cpu busy_cpu();
// A DCM's credit for slices: `bytes_max` of them, within bounds.
[[nodiscard]] std::uint32_t credits_for(double slice_bytes);

}  // namespace weir::packet_model
