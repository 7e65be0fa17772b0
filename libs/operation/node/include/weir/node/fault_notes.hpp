#pragma once

#include <string_view>

// Keys of a report's notes.
namespace weir::node {

// A sentence about a fault of the node, for the run's record.
constexpr std::string_view kFaultNote = "fault";
// The reason why a node's final report comes later than those of others.
constexpr std::string_view kWaitsNote = "waits";

}  // namespace weir::node
