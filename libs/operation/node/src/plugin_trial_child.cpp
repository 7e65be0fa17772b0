#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/plugin_trial_child.hpp>

#include <fmt/format.h>
#include <spawn.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace weir::node {
namespace {

constexpr std::size_t kOutputMax = std::size_t{64} << 10;

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

[[noreturn]] void fail(int why) {
  throw std::runtime_error(std::string("no child to try the plugin: ") + std::strerror(why));
}

// Returns a file in memory, positioned at its beginning.
int file_with(const std::string& bytes) {
  const int file = ::memfd_create("weir-farm", MFD_CLOEXEC);
  if (file < 0) fail(errno);
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t now = ::write(file, bytes.data() + written, bytes.size() - written);
    if (now < 0) {
      const int why = errno;
      ::close(file);
      fail(why);
    }
    written += static_cast<std::size_t>(now);
  }
  ::lseek(file, 0, SEEK_SET);
  return file;
}

}  // namespace

PluginTrialChild::PluginTrialChild(const std::string& program, const std::vector<std::string>& arguments,
                                   const std::string& farm, TimeNs now, DurationNs limit)
    : until_ns_(now + limit), limit_(limit) {
  const int input = file_with(farm);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    const int why = errno;
    ::close(input);
    fail(why);
  }
  output_fd_ = ends[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // The loop blocks signals, and the child must not inherit that.
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  // Processes that the plugin starts belong to the child's group.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& one : words) argv.push_back(one.data());
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  ::close(input);
  if (failed == 0) return;
  ::close(output_fd_);
  fail(failed);
}

PluginTrialChild::~PluginTrialChild() {
  kill_child();
  ::close(output_fd_);
}

void PluginTrialChild::kill_child() {
  if (pid_ <= 0) return;
  WEIR_ASSERT(pid_ > 1);  // otherwise the signal goes to every process
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void PluginTrialChild::read_output() {
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(output_fd_, bytes, sizeof bytes)) > 0;) {
    if (output_.size() < kOutputMax) output_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::optional<std::string> PluginTrialChild::result(TimeNs now) {
  WEIR_ASSERT(pid_ > 0);  // the verdict is given once
  read_output();
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
  if (ended.si_pid == pid_) {
    ::kill(-pid_, SIGKILL);  // until waitpid(), no other group can have this number
    int status = 0;
    (void)::waitpid(pid_, &status, 0);
    pid_ = -1;
    read_output();
    return verdict(status);
  }
  if (now < until_ns_) return std::nullopt;
  kill_child();
  return fmt::format(
      "the plugin's trial did not end within {:g} s: check what its constructor or destructor is waiting "
      "for, or raise control.configure_s",
      static_cast<double>(limit_) / static_cast<double>(kSecond));
}

std::string PluginTrialChild::wait() {
  constexpr int kLookMs = 20;
  while (true) {
    if (auto found = result(awake_now_ns())) return std::move(*found);
    pollfd output{output_fd_, POLLIN, 0};
    (void)::poll(&output, 1, kLookMs);
    // At the end of the output the child is about to end.
    if ((output.revents & POLLHUP) != 0) (void)::poll(nullptr, 0, 1);
  }
}

std::string PluginTrialChild::verdict(int status) const {
  if (WIFSIGNALED(status)) {
    return fmt::format("a trial of the plugin ends its process with signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) == 0) return {};
  const std::string said = trimmed(output_);
  return said.empty()
             ? fmt::format("a trial of the plugin ends its process with status {}", WEXITSTATUS(status))
             : said;
}

}  // namespace weir::node
