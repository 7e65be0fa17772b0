#pragma once

#include "geometry.hpp"

#include <istream>
#include <string>

namespace coincidence {

// Reads a KM3NeT detector file, detx versions 1 to 5: each module with channels is a source and a floor of
// its own, and each channel is delayed by its t0 over the least t0 of the file. Sources are in the file's
// order. Errors: std::invalid_argument with `name` and the line's number.
[[nodiscard]] Geometry read_detx(std::istream& in, const std::string& name);

}  // namespace coincidence
