#pragma once

#include <cstdint>
#include <string>

namespace weir::run_control {

// Opens a TCP socket that listens at an IPv4 address and port of another network namespace, given by its
// path; the calling thread's namespace is unchanged. Errors: std::runtime_error with a message.
[[nodiscard]] int listen_in(const std::string& network, const std::string& host, std::uint16_t port);

}  // namespace weir::run_control
