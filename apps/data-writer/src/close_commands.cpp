#include <weir/base/time.hpp>
#include <weir/clock/clock.hpp>
#include <weir/writer/close_commands.hpp>

#include <spawn.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace weir::writer {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);  // while children run
constexpr int kTimedOut = 124;                          // of `timeout`
constexpr int kKilled = 137;                            // of `timeout`: SIGTERM was not enough
constexpr const char* kGrace = "--kill-after=5";        // s from SIGTERM to SIGKILL

std::string script_of(const std::string& command) { return command + " \"$@\""; }

// How a child begins: with the default signal handlers, and with no descriptor but the first three.
class Beginning {
 public:
  Beginning() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  ~Beginning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  // 0 or an errno.
  [[nodiscard]] int start(const std::vector<std::string>& line, pid_t& pid) const {
    std::vector<char*> argv;
    argv.reserve(line.size() + 1);
    for (const std::string& word : line) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    return ::posix_spawnp(&pid, argv.front(), &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
};

std::vector<std::string> line_of(const CloseCommand& what) {
  return {"timeout",  kGrace,    std::to_string(what.seconds_max),
          "sh",       "-c",      script_of(what.command),
          "on_close", what.path, what.crc32c};
}

}  // namespace

CloseCounts operator-(const CloseCounts& left, const CloseCounts& right) {
  return {left.started - right.started, left.failed - right.failed,
          left.ended_by_limit - right.ended_by_limit, left.dropped - right.dropped};
}

CloseCommands::CloseCommands() : thread_([this] { run(); }) {}

CloseCommands::~CloseCommands() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  hand_over();
}

void CloseCommands::add(CloseCommand command, std::size_t at_once_max) {
  {
    const std::lock_guard lock(mutex_);
    at_once_max_ = at_once_max;
    if (waiting_.size() >= kWaitingMax) {
      if (counts_.dropped++ == 0)
        spdlog::error("on_close is not run: {} files wait for it already file={}", kWaitingMax, command.path);
      return;
    }
    waiting_.push_back(std::move(command));
  }
  changed_.notify_all();
}

CloseCounts CloseCommands::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Expects the lock, as all below.
void CloseCommands::start_some() {
  while (!waiting_.empty() && running_.size() < at_once_max_) {
    Running child{0, std::move(waiting_.front()), monotonic_now_ns()};
    waiting_.pop_front();
    ++counts_.started;
    if (const int error = Beginning().start(line_of(child.what), child.pid); error != 0) {
      ++counts_.failed;
      spdlog::error("on_close cannot be started: coreutils' timeout, errno={} command=\"{}\" file={}", error,
                    child.what.command, child.what.path);
      continue;
    }
    running_.push_back(std::move(child));
  }
}

void CloseCommands::see_ends() {
  std::erase_if(running_, [this](const Running& child) {
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
    const int end = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const bool late = monotonic_now_ns() - child.begun_ns >= child.what.seconds_max * kSecond;
    if (late && (end == kTimedOut || end == kKilled)) {
      ++counts_.ended_by_limit;
      spdlog::error("on_close took longer than writer.on_close_s={} and was ended command=\"{}\" file={}",
                    child.what.seconds_max, child.what.command, child.what.path);
    } else if (end != 0) {
      ++counts_.failed;
      spdlog::error("on_close failed status={} command=\"{}\" file={}", end, child.what.command,
                    child.what.path);
    }
    return true;
  });
}

void CloseCommands::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    see_ends();
    start_some();
    if (running_.empty()) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    } else {
      changed_.wait_for(lock, kLook);
    }
  }
}

// All files of one command and limit, as words of one shell. (They differ where runs were configured anew.)
void CloseCommands::hand_over() {
  constexpr const char* kEach =
      "script=$1; limit=$2; shift 2\n"
      "while [ $# -gt 1 ]; do timeout --kill-after=5 \"$limit\" sh -c \"$script\" on_close \"$1\" \"$2\"; "
      "shift 2; done";
  while (!waiting_.empty()) {
    const CloseCommand first = waiting_.front();
    std::vector<std::string> line{
        "sh", "-c", kEach, "on_close", script_of(first.command), std::to_string(first.seconds_max)};
    for (; !waiting_.empty() && waiting_.front().command == first.command &&
           waiting_.front().seconds_max == first.seconds_max;
         waiting_.pop_front()) {
      line.push_back(waiting_.front().path);
      line.push_back(waiting_.front().crc32c);
      ++counts_.started;
    }
    pid_t pid = 0;
    const std::size_t files = (line.size() - 6) / 2;
    if (const int error = Beginning().start(line, pid); error != 0) {
      spdlog::error("on_close cannot be started errno={} command=\"{}\" files={}", error, first.command,
                    files);
    } else {
      spdlog::info("on_close goes on after this process pid={} files={}", pid, files);
    }
  }
}

}  // namespace weir::writer
