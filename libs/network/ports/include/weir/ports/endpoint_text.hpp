#pragma once

#include <weir/ports/network.hpp>

#include <string>

namespace weir::ports {

// Returns "host:port", and "[::1]:7000" for an IPv6 address.
[[nodiscard]] inline std::string to_text(const Endpoint& at) {
  const bool brackets = at.host.find(':') != std::string::npos;
  return (brackets ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port);
}

}  // namespace weir::ports
