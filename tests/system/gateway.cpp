#include "gateway.hpp"

#include "weir_catch.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace weir::system_test {
namespace {

constexpr int kLookMs = 50;

sockaddr_in at_port(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

// Returns a socket at any free port, and the port.
std::pair<int, std::uint16_t> bound_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = at_port(0);
  socklen_t length = sizeof at;
  const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&at), length) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &length) == 0;
  REQUIRE(bound);
  return {socket, ntohs(at.sin_port)};
}

// Copies the bytes that have arrived at one end to the other. Returns false at the end of the stream.
bool pass_on(int from, int to) {
  std::array<std::byte, 65536> buffer;
  const ssize_t size = ::recv(from, buffer.data(), buffer.size(), 0);
  for (ssize_t sent = 0; sent < size;) {
    const ssize_t part =
        ::send(to, buffer.data() + sent, static_cast<std::size_t>(size - sent), MSG_NOSIGNAL);
    if (part <= 0) return false;
    sent += part;
  }
  return size > 0;
}

}  // namespace

Gateway::Gateway() {
  const auto [socket, inside] = bound_socket();
  std::tie(listener_, outside_) = bound_socket();
  inside_ = inside;
  ::close(socket);
  REQUIRE(::listen(listener_, SOMAXCONN) == 0);
  thread_ = std::thread([this] { run(); });
}

Gateway::~Gateway() {
  stop_ = true;
  thread_.join();
  ::close(listener_);
}

void Gateway::run() {
  std::vector<std::pair<int, int>> pairs;
  while (!stop_) {
    std::vector<pollfd> files{{listener_, POLLIN, 0}};
    for (const auto& [outer, inner] : pairs) {
      files.push_back({outer, POLLIN, 0});
      files.push_back({inner, POLLIN, 0});
    }
    if (::poll(files.data(), files.size(), kLookMs) <= 0) continue;
    for (std::size_t i = pairs.size(); i-- > 0;) {
      const auto [outer, inner] = pairs[i];
      const bool open = (files[2 * i + 1].revents == 0 || pass_on(outer, inner)) &&
                        (files[2 * i + 2].revents == 0 || pass_on(inner, outer));
      if (open) continue;
      ::close(outer);
      ::close(inner);
      pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (files[0].revents == 0) continue;
    const int outer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int inner = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in to = at_port(inside_);
    if (::connect(inner, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      ++connections_;
      pairs.emplace_back(outer, inner);
    } else {
      ::close(outer);
      ::close(inner);
    }
  }
  for (const auto& [outer, inner] : pairs) {
    ::close(outer);
    ::close(inner);
  }
}

}  // namespace weir::system_test
