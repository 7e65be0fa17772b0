#pragma once

#include <boost/asio/ip/tcp.hpp>

#include <optional>
#include <sys/socket.h>

namespace weir::transport {

using TcpEndpoint = boost::asio::ip::tcp::endpoint;

inline std::optional<TcpEndpoint> endpoint_by(int (*get)(int, sockaddr*, socklen_t*), int socket) {
  TcpEndpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  if (get(socket, endpoint.data(), &size) != 0) return std::nullopt;
  endpoint.resize(size);
  return endpoint;
}
// Return nullopt if the socket is not bound or not connected.
inline std::optional<TcpEndpoint> local_endpoint(int socket) { return endpoint_by(::getsockname, socket); }
inline std::optional<TcpEndpoint> remote_endpoint(int socket) { return endpoint_by(::getpeername, socket); }

}  // namespace weir::transport
