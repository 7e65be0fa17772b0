#pragma once

#include <string>

namespace weir::transport {

// Returns a sentence with the usable TCP congestion controls if this process cannot use `name`: the kernel
// does not have it, or reserves it for root (net.ipv4.tcp_allowed_congestion_control). Otherwise returns an
// empty text. Makes a socket, in the caller's network.
[[nodiscard]] std::string congestion_control_problem(const std::string& name);

}  // namespace weir::transport
