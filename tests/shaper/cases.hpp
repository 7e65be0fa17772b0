#pragma once

#include "network.hpp"

#include <string_view>
#include <vector>

namespace weir::shaper_model {

// Networks with names, each with something of its own that is hard for a shaper.
[[nodiscard]] std::vector<Network> cases();
// Throws std::runtime_error for a name that is none of them.
[[nodiscard]] Network case_named(std::string_view name);

// What a host with compilers on all its cores is like.
[[nodiscard]] Cpu busy_cpu();
// A DCM's credit for slices: `bytes_max` of them, within bounds.
[[nodiscard]] std::uint32_t credits_for(double slice_bytes);

}  // namespace weir::shaper_model
