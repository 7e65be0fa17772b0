#include <weir/lab/load.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace weir::lab {
namespace {

constexpr double kMicro = 1e-6;

std::vector<int> cores_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// Runs in the new process. Uses only calls that are safe after fork().
[[noreturn]] void spin(pid_t parent, int core) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // the parent died before the line above
  ::close_range(0, ~0U, 0);
  if (core >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }
  for (volatile std::uint64_t turns = 0;;) turns = turns + 1;
}

}  // namespace

Load::~Load() { stop(); }

Load::Load(Load&& other) noexcept : pids_(std::exchange(other.pids_, {})) {}

Load& Load::operator=(Load&& other) noexcept {
  std::swap(pids_, other.pids_);
  return *this;
}

Expected<Load, std::string> Load::start(std::uint32_t processes) {
  const std::vector<int> cores = cores_of_this_process();
  const pid_t self = ::getpid();
  Load load;
  load.pids_.reserve(processes);
  for (std::uint32_t i = 0; i < processes; ++i) {
    const int core = cores.empty() ? -1 : cores[i % cores.size()];
    const pid_t pid = ::fork();
    if (pid == 0) spin(self, core);
    if (pid < 0) return Unexpected<std::string>(std::string("cpu_load: ") + std::strerror(errno));
    load.pids_.push_back(pid);
  }
  return load;
}

double Load::stop() {
  double cpu_s = 0;
  for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
  for (const pid_t pid : std::exchange(pids_, {})) {
    int status = 0;
    rusage usage{};
    while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    cpu_s += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             kMicro * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  return cpu_s;
}

}  // namespace weir::lab
