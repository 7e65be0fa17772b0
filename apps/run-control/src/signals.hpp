#pragma once

#include "parts.hpp"
#include <weir/v1/bus.pb.h>

#include <cstddef>
#include <string>

namespace weir::run_control {

// Signals processes on this host for an operator: all those named, or none. Errors are messages.
[[nodiscard]] std::string send_signals(const v1::Request& request, Parts& parts);
// Kills a process on this host. Errors are messages.
[[nodiscard]] std::string kill_member(std::size_t member, Parts& parts);

}  // namespace weir::run_control
