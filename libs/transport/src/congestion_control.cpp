#include <weir/transport/congestion_control.hpp>

#include <cerrno>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::transport {

std::string congestion_control_problem(const std::string& name) {
  if (name.empty()) return {};
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  const auto size = static_cast<socklen_t>(name.size());
  const bool unknown =
      ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) != 0 && errno == ENOENT;
  ::close(fd);
  if (!unknown) return {};
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::string names;
  std::getline(file, names);
  return "this kernel has no '" + name + "', and uses its default; it has: " + names;
}

}  // namespace weir::transport
