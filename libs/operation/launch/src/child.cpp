#include "owner_mark.hpp"
#include <weir/launch/child.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace weir::launch {
namespace {

constexpr int kCannotExecute = 127;  // a shell's exit status for it
constexpr mode_t kLogMode = 0666;
constexpr double kMicro = 1e-6;
constexpr std::uint64_t kRssUnitBytes = 1024;  // unit of ru_maxrss

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

void close_if_open(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

ProcessEnd end_of(int status, const rusage& usage) {
  ProcessEnd end;
  end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  end.cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
              kMicro * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  end.rss_max_bytes = kRssUnitBytes * static_cast<std::uint64_t>(usage.ru_maxrss);
  return end;
}

// A copy of this process' environment with the owner's mark.
class Environment {
 public:
  Environment() {
    const std::string_view name(mark_.data(), mark_.find('=') + 1);
    for (char** word = environ; *word != nullptr; ++word) {
      if (!std::string_view(*word).starts_with(name)) words_.push_back(*word);
    }
    words_.push_back(mark_.data());
    words_.push_back(nullptr);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  // Safe after fork().
  void set_owner(pid_t owner) {
    char* const begin = mark_.data() + mark_.find('=') + 1;
    *std::to_chars(begin, mark_.data() + mark_.size(), owner).ptr = '\0';
  }
  [[nodiscard]] char* const* words() const { return words_.data(); }

 private:
  static constexpr std::size_t kDigitsMax = 20;

  std::string mark_ = std::string(kOwnerVariable) + "=" + std::string(kDigitsMax, '\0');
  std::vector<char*> words_;
};

// Runs in the new process until it becomes the program. Uses only calls that are safe after fork().
[[noreturn]] void become(pid_t parent, char* const* argv, Environment& environment, int log, int output,
                         int network) {
  ::setpgid(0, 0);
  environment.set_owner(::getpid());
  // The kernel kills the process: one that hangs must not outlive the run. If the parent died before this
  // call, the next line notices.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kCannotExecute);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Restores the default action, because the launcher ends the process with SIGTERM even if its own parent
  // ignored that.
  for (const int signal : {SIGPIPE, SIGTERM}) std::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output >= 0 ? output : log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  const bool entered = network < 0 || ::setns(network, CLONE_NEWNET) == 0;
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  if (entered) ::execve(argv[0], argv, environment.words());
  const char* why = entered ? std::strerror(errno) : "its network namespace cannot be entered";
  for (const char* part : {"cannot execute ", static_cast<const char*>(argv[0]), ": ", why, "\n"}) {
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  ::_exit(kCannotExecute);
}

}  // namespace

std::string describe(const ProcessEnd& end) {
  if (end.status >= 0) return "status " + std::to_string(end.status);
  return "signal " + std::to_string(-end.status) + " (" + ::strsignal(-end.status) + ")";
}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // the child may not have made its group yet
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    end_orphans_of(pid_);
  }
  close_if_open(output_);
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  return *this;
}

Expected<Child, std::string> Child::start(const ChildSettings& settings) {
  orphans::adopt();
  if (!settings.append_log) node::close_log(settings.log_file, settings.log_files_kept);
  const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND;
  int log = ::open(settings.log_file.c_str(), mode, kLogMode);
  if (log < 0) return Unexpected<std::string>(system_error("cannot write '" + settings.log_file + "'"));
  std::array<int, 2> pipe{-1, -1};
  if (settings.read_output && ::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) < 0) {
    close_if_open(log);
    return Unexpected<std::string>(system_error("cannot create a pipe"));
  }
  std::vector<char*> argv;
  argv.reserve(settings.arguments.size() + 2);
  argv.push_back(const_cast<char*>(settings.program.c_str()));
  for (const std::string& argument : settings.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  Environment environment;
  const pid_t self = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(self, argv.data(), environment, log, pipe[1], settings.network);
  const int error = errno;
  close_if_open(log);
  close_if_open(pipe[1]);
  Child child;
  child.output_ = pipe[0];
  if (pid < 0) {
    errno = error;
    return Unexpected<std::string>(system_error("cannot start a process"));
  }
  child.pid_ = pid;
  return child;
}

std::optional<ProcessEnd> Child::poll() {
  if (pid_ <= 0) return std::nullopt;
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return std::nullopt;
  if (ended.si_pid != pid_) return std::nullopt;
  // Until waitpid(), no other group can have this number.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage{};
  if (::wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  end_orphans_of(std::exchange(pid_, -1));
  return end_of(status, usage);
}

void Child::send_signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

bool Child::is_stopped() const {
  siginfo_t info{};
  return pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::string Child::take_output() {
  std::string text;
  std::array<char, 4096> buffer{};
  while (output_ >= 0) {
    const ssize_t size = ::read(output_, buffer.data(), buffer.size());
    if (size > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    } else {
      if (size == 0) close_if_open(output_);
      break;
    }
  }
  return text;
}

}  // namespace weir::launch
