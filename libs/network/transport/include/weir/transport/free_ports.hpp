#pragma once

#include <string>

namespace weir::transport {

// Returns a sentence if the system has no ephemeral port left for a further connection of this host, or of
// this network namespace; empty if it has. Takes a port and gives it back.
[[nodiscard]] std::string no_port_left();

}  // namespace weir::transport
