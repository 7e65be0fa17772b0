#pragma once

#include <string>

namespace weir::transport {

// Returns a sentence with the usable TCP congestion controls if this process cannot use this one, otherwise
// an empty text. Makes a socket, in the caller's network. A kernel may have it and keep it for root
// (net.ipv4.tcp_allowed_congestion_control).
[[nodiscard]] std::string congestion_control_problem(const std::string& name);

}  // namespace weir::transport
