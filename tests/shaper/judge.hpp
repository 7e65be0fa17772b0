#pragma once

#include <weir/packet_model/pull_model.hpp>

#include <vector>

namespace weir::packet_model {

// Compares the first of several shapers with the others on a network; a single shaper is judged by its own
// figures.
struct Judgement {
  double goodput = 1;  // share of the others' best; for a single shaper, of the links' limit
  double p99 = 1;      // relative to the least p99 among shapers within 1 % of the best goodput; for a single
                       // shaper, in serialisations
  std::uint64_t drops = 0;  // of the first shaper
  std::uint64_t packets = 0;
};

[[nodiscard]] Judgement judge(const std::vector<RunResult>& runs);
// Runs each shaper `runs` times, with other random numbers each time. Returns its mean rates and latencies,
// and the sums of its counters.
[[nodiscard]] std::vector<RunResult> run_all(const PullNetwork& network,
                                             const std::vector<ShaperSpec>& shapers,
                                             const PullRunSpec& settings, std::uint32_t runs = 1);

// Limits of a good run: least goodput and highest p99.
struct Limits {
  double goodput = 0;
  double p99 = 1e300;
  [[nodiscard]] bool fails(const Judgement& judgement) const {
    return judgement.goodput < goodput || judgement.p99 > p99;
  }
};

}  // namespace weir::packet_model
