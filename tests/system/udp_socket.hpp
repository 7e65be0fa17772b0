#pragma once

#include <arpa/inet.h>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace weir::system_test {

class UdpSocket {
 public:
  UdpSocket() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~UdpSocket() { ::close(socket_); }
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  // Binds to a port, 0 for any. Returns false if it is taken.
  [[nodiscard]] bool bind(std::uint16_t port) const {
    const sockaddr_in at = loopback(port);
    return ::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  [[nodiscard]] std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  void send_to(std::uint16_t port, const std::vector<std::byte>& bytes) const {
    const sockaddr_in at = loopback(port);
    (void)::sendto(socket_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  }

  // Returns whether nothing has arrived.
  [[nodiscard]] bool is_silent() const {
    std::byte byte{};
    return ::recv(socket_, &byte, sizeof byte, MSG_DONTWAIT) < 0;
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }
  int socket_;
};

// A port of the loopback that is free, as is the next one.
inline std::uint16_t free_port_pair() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const UdpSocket first;
    const UdpSocket second;
    if (!first.bind(0) || first.port() == 65535) continue;
    if (second.bind(static_cast<std::uint16_t>(first.port() + 1))) return first.port();
  }
  throw std::runtime_error("no two ports in a row are free");
}

}  // namespace weir::system_test
