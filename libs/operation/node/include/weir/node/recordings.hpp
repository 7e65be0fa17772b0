#pragma once

#include <weir/config/plan.hpp>

#include <string>

namespace weir::node {

// For config::expand() and config::validate(): returns the contents of a farm that replays `path`. Reads
// indices, not the data. The error is a sentence.
[[nodiscard]] Expected<config::ReplayContents, std::string> read_recording(const std::string& path);

}  // namespace weir::node
