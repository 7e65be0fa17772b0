#include <weir/base/assert.hpp>
#include <weir/node/process.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::node {
namespace {

constexpr std::size_t kOwn = 32;        // descriptors of a process without connections
constexpr std::size_t kPerProcess = 2;  // a connection, and a second one while the first is being lost

}  // namespace

void prepare_process() {
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
  // If it is ignored, the kernel reaps the children, and their ends never reach waitpid().
  std::signal(SIGCHLD, SIG_DFL);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest free number
  }
}

std::string host_name() {
  constexpr std::size_t kHostNameMax = 256;
  std::array<char, kHostNameMax> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint64_t file_bytes_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kSignalBase + SIGTERM);
}

std::string bind_to_cpus(std::span<const std::uint32_t> cpus) {
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return fmt::format("cannot use the CPUs {}: {}; this machine has {} CPUs, numbered from 0",
                     fmt::join(cpus, ", "), std::strerror(errno), ::sysconf(_SC_NPROCESSORS_CONF));
}

std::string allow_descriptors(std::size_t farm_processes) {
  WEIR_ASSERT(farm_processes > 0);
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
      "a process may open {} files, but with {} processes it needs {}: raise the limit with ulimit -n",
      limit.rlim_cur, farm_processes, wanted);
}

}  // namespace weir::node
