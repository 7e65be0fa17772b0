#pragma once

#include "parts.hpp"
#include <weir/v1/bus.pb.h>

#include <string>

namespace weir::run_control {

// Signals processes on this host for an operator: all of those named, or none. The error is a sentence.
[[nodiscard]] std::string send_signals(const v1::Request& request, Parts& parts);

}  // namespace weir::run_control
