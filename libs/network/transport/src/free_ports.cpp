#include <weir/transport/free_ports.hpp>

#include <cerrno>
#include <fstream>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace weir::transport {
namespace {

constexpr const char* kRange = "/proc/sys/net/ipv4/ip_local_port_range";

// "40000 to 40006"
std::string range() {
  std::ifstream file(kRange);
  std::string first;
  std::string last;
  return file >> first >> last ? first + " to " + last : "unknown";
}

}  // namespace

std::string no_port_left() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return {};
  sockaddr_in any{};  // port 0: the system chooses an ephemeral one
  any.sin_family = AF_INET;
  const int error = ::bind(probe, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 ? 0 : errno;
  ::close(probe);
  if (error != EADDRINUSE && error != EADDRNOTAVAIL) return {};
  return "no ephemeral port is left: net.ipv4.ip_local_port_range is " + range() +
         ": widen it, or run fewer processes here";
}

}  // namespace weir::transport
