#include "sockets.hpp"

#include "space.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>

namespace weir::lab {
namespace {

sockaddr_in address_of(const LabHost& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.address.c_str(), &address.sin_addr);
  return address;
}

[[noreturn]] void fail(const std::string& what, const LabHost& host) {
  throw std::runtime_error(fmt::format("host {}: {}: {}", host.name, what, std::strerror(errno)));
}

// Set before listen or connect: a socket that began with BBR stays paced under any other algorithm.
OwnedDescriptor tcp_socket(const LabHost& host, const std::string& congestion_control) {
  OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail("cannot open a socket", host);
  if (!congestion_control.empty() &&
      ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(),
                   static_cast<socklen_t>(congestion_control.size())) != 0) {
    fail("congestion_control '" + congestion_control + "'", host);
  }
  return socket;
}

OwnedDescriptor connect_to(const LabPlan& plan, std::size_t from, std::size_t to, std::uint16_t port,
                           const std::string& congestion_control) {
  OwnedDescriptor socket = tcp_socket(plan.hosts[from], congestion_control);
  const timeval patience{10, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr_in address = address_of(plan.hosts[to], port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot connect to host " + plan.hosts[to].name, plan.hosts[from]);
  }
  return socket;
}

OwnedDescriptor accept_from(const OwnedDescriptor& listener, const LabHost& host) {
  OwnedDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) fail("cannot accept a connection", host);
  return socket;
}

}  // namespace

ListeningSocket listen_on(const LabPlan& plan, const LabNetwork& network, std::size_t host,
                          const std::string& congestion_control) {
  ListeningSocket result;
  in_space(network.space(kFirstHost + host), [&] {
    OwnedDescriptor socket = tcp_socket(plan.hosts[host], congestion_control);
    sockaddr_in address = address_of(plan.hosts[host], 0);
    socklen_t size = sizeof address;
    const bool listens = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                         ::listen(socket.get(), SOMAXCONN) == 0 &&
                         ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!listens) fail("cannot listen", plan.hosts[host]);
    result = {std::move(socket), ntohs(address.sin_port)};
  });
  return result;
}

HostConnection connect_hosts(const LabPlan& plan, const LabNetwork& network, std::size_t from, std::size_t to,
                             const std::string& congestion_control) {
  const ListeningSocket listener = listen_on(plan, network, to, congestion_control);
  HostConnection connection;
  in_space(network.space(kFirstHost + from),
           [&] { connection.from = connect_to(plan, from, to, listener.port, congestion_control); });
  connection.to = accept_from(listener.socket, plan.hosts[to]);
  return connection;
}

void meet_once(const LabPlan& plan, const LabNetwork& network) {
  for (std::size_t to = 1; to < plan.hosts.size(); ++to) {
    const ListeningSocket listener = listen_on(plan, network, to, {});
    for (std::size_t from = 0; from < to; ++from) {
      HostConnection connection;
      in_space(network.space(kFirstHost + from),
               [&] { connection.from = connect_to(plan, from, to, listener.port, {}); });
      connection.to = accept_from(listener.socket, plan.hosts[to]);
      connection.from.reset();
      char nothing = 0;
      (void)::recv(connection.to.get(), &nothing, sizeof nothing, 0);  // the peer's close has arrived
    }
  }
}

}  // namespace weir::lab
