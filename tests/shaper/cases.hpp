#pragma once

#include "network.hpp"

#include <string_view>
#include <vector>

namespace weir::shaper_model {

// Named networks, each difficult for a shaper in a different way.
[[nodiscard]] std::vector<Network> cases();
// Throws std::runtime_error for an unknown name.
[[nodiscard]] Network case_named(std::string_view name);

// The CPU of a host that compiles on all its cores.
[[nodiscard]] Cpu busy_cpu();
// A DCM's credit for slices: `bytes_max` of them, within bounds.
[[nodiscard]] std::uint32_t credits_for(double slice_bytes);

}  // namespace weir::shaper_model
