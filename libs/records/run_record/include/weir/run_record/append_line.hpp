#pragma once

#include <string>

namespace weir::run_record {

// Appends the line, and its end, to the file at `path`, on a line of its own even if the last line was cut.
// Returns an error for people; empty: the file has the line.
[[nodiscard]] std::string append_line(const std::string& path, std::string line);

}  // namespace weir::run_record
