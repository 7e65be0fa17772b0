#pragma once

#include <weir/packet_model/pull_network.hpp>

#include <string>
#include <vector>

namespace weir::packet_model {

// Makes a network from a seed. Three quarters are local, the others span long distances; a few have busy
// hosts, losses, foreign traffic or other features.
[[nodiscard]] PullNetwork make_network(std::uint64_t seed);

// Names of the features that can be removed from a network: `busy`, `loss`, ...
[[nodiscard]] const std::vector<std::string>& features();
// Removes the feature. Returns false if the network does not have it.
[[nodiscard]] bool take_away(PullNetwork& network, const std::string& feature);

}  // namespace weir::packet_model
