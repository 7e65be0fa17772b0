// The C library's tcp_info is older than the kernel's, and the two headers do not go together.
#include "tcp_facts.hpp"

#include <cstddef>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace weir::transport {

std::uint32_t segments_out_of_order(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  constexpr std::size_t kEnd = offsetof(tcp_info, tcpi_rcv_ooopack) + sizeof info.tcpi_rcv_ooopack;
  return size >= kEnd ? info.tcpi_rcv_ooopack : 0;
}

}  // namespace weir::transport
