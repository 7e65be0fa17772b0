#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace weir::packet_model {

// Features of a network that it can be without and still be as bad, in the order of their going.
struct Shrunk {
  PullNetwork network;
  std::vector<std::string> without;
  Judgement judgement;
};

[[nodiscard]] Shrunk shrink(const PullNetwork& network, const std::vector<ShaperSpec>& shapers,
                            const PullRunSpec& settings, const Limits& limits);

}  // namespace weir::packet_model
