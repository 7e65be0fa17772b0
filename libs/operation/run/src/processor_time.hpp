#pragma once

#include "farm.hpp"
#include <weir/config/expected_sizes.hpp>
#include <weir/run/costs.hpp>
#include <weir/run/host_size.hpp>

#include <cstdint>
#include <string>

namespace weir::run {

// Returns a rate as "12 000", which has no more digits than an estimate is good for.
[[nodiscard]] std::string rounded(double rate);

// Returns the number of cores that this process may use.
[[nodiscard]] std::uint32_t usable_cores();

// Returns the processes of a farm, of its first group of DCMs, and its mean slice. Masked ones do not count.
[[nodiscard]] FarmProcesses shape_of(const LoadedFarm& loaded, const config::ExpectedSizes& sizes);

// The built-in table if no file is named. Errors: a sentence with the file.
[[nodiscard]] Expected<CostTable, std::string> costs_from(const std::string& file);

struct ProcessorTime {
  std::string text;  // a section of `weir check`
  config::Problems warnings;
};
// Estimates the processor time of the farm at a rate of triggers (0: as fast as it can).
[[nodiscard]] ProcessorTime processor_time(const LoadedFarm& loaded, const config::ExpectedSizes& sizes,
                                           double slices_per_s, const CostTable& costs);

}  // namespace weir::run
