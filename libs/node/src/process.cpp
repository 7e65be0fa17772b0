#include <weir/node/process.hpp>

#include <fmt/format.h>

#include <csignal>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::node {
namespace {

constexpr std::size_t kOwn = 32;        // descriptors of a process without connections
constexpr std::size_t kPerProcess = 2;  // a connection, and another one while the first is lost

}  // namespace

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kSignalBase + SIGTERM);
}

std::string allow_descriptors(std::size_t farm_processes) {
  const std::size_t wanted = kOwn + kPerProcess * farm_processes;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= wanted) return {};
  return fmt::format(
      "a process may have {} files open, and one of a farm of {} processes needs {}: raise it with ulimit -n",
      limit.rlim_cur, farm_processes, wanted);
}

}  // namespace weir::node
