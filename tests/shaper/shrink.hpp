#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace weir::shaper_model {

// Features of a network that it can be without and still be as bad, in the order of their going.
struct Shrunk {
  Network network;
  std::vector<std::string> without;
  Judgement judgement;
};

[[nodiscard]] Shrunk shrink(const Network& network, const std::vector<ShaperSpec>& shapers,
                            const RunSettings& settings, const Limits& limits);

}  // namespace weir::shaper_model
