#include "addresses.hpp"

#include "message_socket.hpp"
#include <weir/node/setup.hpp>

#include <netdb.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <stdexcept>

namespace weir::probe {
namespace {

const in_addr& v4(const Address& address) {
  return reinterpret_cast<const sockaddr_in*>(&address.bytes)->sin_addr;
}
const in6_addr& v6(const Address& address) {
  return reinterpret_cast<const sockaddr_in6*>(&address.bytes)->sin6_addr;
}

}  // namespace

std::uint16_t Address::port() const {
  return ntohs(is_v6() ? reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_port
                       : reinterpret_cast<const sockaddr_in*>(&bytes)->sin_port);
}

std::string Address::text() const {
  char name[INET6_ADDRSTRLEN] = "";
  const void* host = is_v6() ? static_cast<const void*>(&v6(*this)) : &v4(*this);
  ::inet_ntop(bytes.ss_family, host, name, sizeof name);
  return (is_v6() ? "[" + std::string(name) + "]" : std::string(name)) + ":" + std::to_string(port());
}

bool Address::same_host(const Address& other) const {
  if (bytes.ss_family != other.bytes.ss_family) return false;
  return is_v6() ? std::memcmp(&v6(*this), &v6(other), sizeof(in6_addr)) == 0
                 : v4(*this).s_addr == v4(other).s_addr;
}

Address resolve(const std::string& text, bool to_listen) {
  ports::Endpoint at;
  try {
    at = node::parse_endpoint(text);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument(error.what());
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found);
  if (unknown != 0) throw std::invalid_argument(text + ": " + ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  Address address;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  return address;
}

OwnedDescriptor bound_socket(const Address& at, int type) {
  OwnedDescriptor socket(::socket(at.bytes.ss_family, type | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (type == SOCK_STREAM) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket.is_open() || ::bind(socket.get(), at.get(), at.size) != 0)
    throw std::runtime_error(at.text() + (type == SOCK_STREAM ? ", TCP: " : ", UDP: ") +
                             std::strerror(errno));
  return socket;
}

Address address_of(int socket) {
  Address address;
  ::getsockname(socket, address.get(), &address.size);
  return address;
}

OwnedDescriptor connect_to(const Address& server, DurationNs patience_ns, int receive_buffer_bytes) {
  OwnedDescriptor socket(::socket(server.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) throw PeerError(std::string("cannot be connected to: ") + std::strerror(errno));
  if (receive_buffer_bytes > 0)
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  int error = ::connect(socket.get(), server.get(), server.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd poll{socket.get(), POLLOUT, 0};
    if (::poll(&poll, 1, static_cast<int>(patience_ns / kMillisecond)) <= 0)
      throw PeerError("did not answer in time");
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) throw PeerError(std::string("cannot be connected to: ") + std::strerror(error));
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

}  // namespace weir::probe
