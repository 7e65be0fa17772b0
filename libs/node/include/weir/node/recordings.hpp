#pragma once

#include <weir/config/plan.hpp>

#include <string>

namespace weir::node {

// For config::expand() and config::validate(): what a farm that replays `path` will have. Reads indices, not
// the data. The error is a sentence.
[[nodiscard]] Expected<config::ReplayContents, std::string> read_recording(const std::string& path);

}  // namespace weir::node
