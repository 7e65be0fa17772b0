#pragma once

#include <string>

namespace weir::transport {

// Returns a sentence with the available TCP congestion controls if the kernel does not have this one,
// otherwise an empty text. Makes a socket, in the caller's network. The kernel may have it and reserve it for
// root (net.ipv4.tcp_allowed_congestion_control): then the system's default remains for other users.
[[nodiscard]] std::string congestion_control_problem(const std::string& name);

}  // namespace weir::transport
