#pragma once

#include <weir/file_reader.hpp>

#include <string>
#include <vector>

namespace weir::files {

// Parses a run's run-…-histograms.json. `path` is used in messages. Throws Error.
[[nodiscard]] std::vector<Histogram> parse_histograms(const std::string& text, const std::string& path);

}  // namespace weir::files
