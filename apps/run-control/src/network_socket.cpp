#include "network_socket.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace weir::run_control {
namespace {

// Runs on a separate thread, which stays in that namespace. Returns -1 with errno on errors.
int listen_here(const std::string& network, const std::string& host, std::uint16_t port) {
  const int space = ::open(network.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0) return -1;
  const bool entered = ::setns(space, CLONE_NEWNET) == 0;
  const int why = errno;
  ::close(space);
  errno = why;
  if (!entered) return -1;
  const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0) return -1;
  const int on = 1;
  ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  const bool good = ::inet_pton(AF_INET, host.c_str(), &at.sin_addr) == 1 &&
                    ::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                    ::listen(listening, SOMAXCONN) == 0;
  if (good) return listening;
  const int error = errno;
  ::close(listening);
  errno = error;
  return -1;
}

}  // namespace

int listen_in(const std::string& network, const std::string& host, std::uint16_t port) {
  int listening = -1;
  int error = 0;
  std::thread([&] {
    listening = listen_here(network, host, port);
    error = errno;
  }).join();
  if (listening >= 0) return listening;
  throw std::runtime_error(
      fmt::format("cannot listen at {}:{} of network {}: {}", host, port, network, std::strerror(error)));
}

}  // namespace weir::run_control
