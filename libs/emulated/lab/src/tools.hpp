#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/batches.hpp>

#include <optional>
#include <string>

namespace weir::lab {

// Returns an error if a program of iproute2 is missing.
[[nodiscard]] std::optional<std::string> missing_tools();

// Runs the tool on the lines inside the network namespace and waits for it. The error has the tool's own
// message and the line.
[[nodiscard]] Expected<void, std::string> run_tool(Tool tool, const std::string& lines, int space);

}  // namespace weir::lab
