#pragma once

#include <weir/bench/figure.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// `weir bench coincidence`: efficiency, purity, data reduction and CPU time of the muon trigger.
namespace weir::bench {

struct CoincidenceOptions {
  std::uint64_t slices = 2000;       // of the sector line (15 modules), per point
  std::uint64_t large_slices = 100;  // of ten strings (900 modules), per point
  std::vector<std::string> search_path;
  Output output{.name = "coincidence"};
};

// Measures efficiency over track length, background and bursts, data reduction, and the searches.
// Returns 0, or 1 with a message to `err`.
int run_coincidence(const CoincidenceOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
