#pragma once

#include <weir/base/expected.hpp>
#include <weir/bench/figure.hpp>
#include <weir/run/costs.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

namespace weir::bench {

struct CostsOptions {
  std::uint32_t rounds = 3;
  double seconds = 1.5;  // of each farm
  std::string folder;    // where slices are stored; empty: the current one
};

// Returns the processor, its number of cores, and the day: "Intel(R) Xeon(R) Processor, 2 cores, 2026-11-28".
[[nodiscard]] std::string machine_text();

// Runs a farm with its default settings and one DCM, as fast as it can, and returns its processor times.
[[nodiscard]] Expected<run::MeasuredFarm, std::string> measure_costs(const run::MeasuredFarm& farm,
                                                                     double seconds,
                                                                     const std::string& folder);
// The form that run::read_costs() takes.
[[nodiscard]] Line line_of(const run::MeasuredFarm& farm, const std::string& machine);

// Measures the farms of a whole table round after round. Returns the exit status.
[[nodiscard]] int run_costs(const CostsOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::bench
