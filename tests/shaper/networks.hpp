#pragma once

#include "network.hpp"

#include <string>
#include <vector>

namespace weir::shaper_model {

// A network from a seed. Most are local, a quarter has long ways; busy hosts, losses, strangers and the like
// each are in one of a few.
[[nodiscard]] Network make_network(std::uint64_t seed);

// What may be taken away from a network, by name: `busy`, `loss`, ...
[[nodiscard]] const std::vector<std::string>& features();
// The network without it. False: it has none.
[[nodiscard]] bool take_away(Network& network, const std::string& feature);

}  // namespace weir::shaper_model
