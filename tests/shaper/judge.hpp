#pragma once

#include "model.hpp"

#include <vector>

namespace weir::shaper_model {

// How the first of several shapers does beside the others on a network; alone, its own figures.
struct Judgement {
  double goodput = 1;  // of the best other one; alone, of what the links allow
  double p99 = 1;  // of the least of those that come within 1 % of the best goodput; alone, serialisations
  std::uint64_t packets = 0;
};

[[nodiscard]] Judgement judge(const std::vector<RunResult>& runs);
[[nodiscard]] std::vector<RunResult> run_all(const Network& network, const std::vector<ShaperSpec>& shapers,
                                             const RunSettings& settings);

// What is bad: below the one, or above the other.
struct Limits {
  double goodput = 0;
  double p99 = 1e300;
  [[nodiscard]] bool fails(const Judgement& judgement) const {
    return judgement.goodput < goodput || judgement.p99 > p99;
  }
};

}  // namespace weir::shaper_model
