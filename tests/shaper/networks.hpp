#pragma once

#include "network.hpp"

#include <string>
#include <vector>

namespace weir::shaper_model {

// Makes a network from a seed. Most are local, a quarter has long distances; busy hosts, losses, strangers
// and the like each occur in one of a few.
[[nodiscard]] Network make_network(std::uint64_t seed);

// Names of the features that can be removed from a network: `busy`, `loss`, ...
[[nodiscard]] const std::vector<std::string>& features();
// Removes the feature. Returns false if the network does not have it.
[[nodiscard]] bool take_away(Network& network, const std::string& feature);

}  // namespace weir::shaper_model
