#pragma once

#include <weir/bench/experiment.hpp>

#include <cstdint>
#include <map>

namespace weir::bench {

// How many LCMs are in a burst, slice by slice.
struct BurstCount {
  std::map<std::uint32_t, std::uint64_t> slices;  // by number of LCMs
  double mean = 0;
  double sigma = 0;
};

// Counts with the bursts of the source `hits`: 5 % of the time, at most 3 s long. Pure.
[[nodiscard]] BurstCount count_bursts(std::uint32_t lcms, std::uint32_t slices);

// Figure 4.4: needs no farm. Returns as run_experiment().
[[nodiscard]] int run_bursts(const Experiment& experiment, const ExperimentOptions& options, std::FILE* out,
                             std::FILE* err);

}  // namespace weir::bench
