#include <weir/transport/congestion_control.hpp>

#include <cerrno>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::transport {
namespace {

std::string names_in(const std::string& list) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_" + list + "_congestion_control");
  std::string names;
  std::getline(file, names);
  return names;
}

}  // namespace

std::string congestion_control_problem(const std::string& name) {
  if (name.empty()) return {};
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  const auto size = static_cast<socklen_t>(name.size());
  const int error = ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) != 0 ? errno : 0;
  ::close(fd);
  if (error == ENOENT)
    return "this kernel has no '" + name + "', and uses its default; it has: " + names_in("available");
  if (error == EPERM)
    return "this kernel keeps '" + name +
           "' for root, and uses its default; other users may take: " + names_in("allowed");
  return {};
}

}  // namespace weir::transport
