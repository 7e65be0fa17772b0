#pragma once

#include "measurement.hpp"

#include <string>

namespace weir::probe {

// Returns the report for people, ending with the `network:` section of a farm file.
[[nodiscard]] std::string report_of(const Measurement& measurement, const ProbeOptions& options);

// Returns all samples as lines of JSON: one of kind `line`, then one for each round trip, request and sample
// of the congestion window.
[[nodiscard]] std::string samples_of(const Measurement& measurement);

}  // namespace weir::probe
