#include "farm_end.hpp"

#include <weir/clock/clock.hpp>

#include <fmt/format.h>
#include <netdb.h>

#include <cerrno>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace weir::commands {
namespace {

constexpr int kConnectMs = 500;
constexpr int kLookMs = 50;  // between two looks at the port, which gives no event when it closes

bool is_refused(const addrinfo& at) {
  const int socket = ::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return false;
  int error = ::connect(socket, at.ai_addr, at.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waiting{socket, POLLOUT, 0};
    socklen_t length = sizeof error;
    const bool known = ::poll(&waiting, 1, kConnectMs) == 1 &&
                       ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0;
    if (!known) error = ETIMEDOUT;
  }
  ::close(socket);
  return error == ECONNREFUSED;
}

// A zombie that its parent has not waited for counts as ended. So does another
// program that has the number by now.
bool is_alive(std::uint32_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return false;
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == line.npos || close == line.npos || close + 2 >= line.size()) return false;
  const bool ours = line.compare(open + 1, 5, "weir-") == 0;
  const char state = line[close + 2];
  return ours && state != 'Z' && state != 'X';
}

// Returns when one of the processes has ended, after kLookMs at the latest.
void wait_for_an_end(const std::vector<std::uint32_t>& pids) {
  std::vector<pollfd> ends;
  for (const std::uint32_t pid : pids) {
    const auto end = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
    if (end >= 0) ends.push_back({end, POLLIN, 0});
  }
  (void)::poll(ends.data(), ends.size(), kLookMs);
  for (const pollfd& end : ends) ::close(end.fd);
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

bool nothing_listens(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return false;
  const bool refused = is_refused(*found);
  ::freeaddrinfo(found);
  return refused;
}

std::vector<std::string> wait_for_farm_end(const std::string& host, std::uint16_t port,
                                           const v1::FarmView& view, double patience_s) {
  const std::string here = host_name();
  const double until_s = monotonic_now_s() + patience_s;
  for (;;) {
    std::vector<std::string> left;
    std::vector<std::uint32_t> living;
    if (!nothing_listens(host, port)) left.push_back(fmt::format("run control at {}:{}", host, port));
    for (const auto& node : view.nodes()) {
      if (node.pid() == 0 || node.host() != here || !is_alive(node.pid())) continue;
      living.push_back(node.pid());
      left.push_back(fmt::format("{} (pid {})", node.name(), node.pid()));
    }
    if (left.empty() || monotonic_now_s() >= until_s) return left;
    wait_for_an_end(living);
  }
}

}  // namespace weir::commands
