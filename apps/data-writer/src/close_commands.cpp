#include <weir/base/assert.hpp>
#include <weir/base/time.hpp>
#include <weir/child_process/child_parts.hpp>
#include <weir/clock/clock.hpp>
#include <weir/writer/close_commands.hpp>

#include <spawn.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace weir::writer {
namespace {

// libs/operation/launch ends processes with this variable.
constexpr std::string_view kOwnerVariable = "WEIR_CHILD=";

constexpr auto kLook = std::chrono::milliseconds(100);  // while children run
constexpr int kTimedOut = 124;                          // exit status of `timeout`
constexpr int kKilled = 137;                            // exit status of `timeout` if SIGTERM was not enough
constexpr int kNotFound = 127;                          // exit status of a shell
constexpr const char* kGrace = "--kill-after=5";        // s from SIGTERM to SIGKILL

std::string script_of(const std::string& command) { return command + " \"$@\""; }

// The start of a child: default signal handlers, a separate session, without its launcher's mark, only the
// first three descriptors.
class Beginning {
 public:
  enum class Output : std::uint8_t { inherited, none };

  explicit Beginning(Output output = Output::inherited) {
    for (char** word = environ; *word != nullptr; ++word) {
      if (!std::string_view(*word).starts_with(kOwnerVariable)) environment_.push_back(*word);
    }
    environment_.push_back(nullptr);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_init(&actions_);
    child_process::set_default_signals(attributes_, POSIX_SPAWN_SETSID);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output == Output::none) {
      ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
      ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
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
    return ::posix_spawnp(&pid, argv.front(), &actions_, &attributes_, argv.data(), environment_.data());
  }

 private:
  posix_spawnattr_t attributes_{};
  posix_spawn_file_actions_t actions_{};
  std::vector<char*> environment_;
};

// Returns the exit status; 127: it could not be started.
int status_of(const std::vector<std::string>& line) {
  pid_t pid = 0;
  if (Beginning(Beginning::Output::none).start(line, pid) != 0) return kNotFound;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNotFound;
}

// Returns the program at the beginning of a command; empty if it begins with an assignment, a quote or the
// like.
std::string program_of(const std::string& command) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._+-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  const std::size_t begin = std::min(command.find_first_not_of(" \t\n"), command.size());
  const std::size_t end = std::min(command.find_first_of(" \t\n;&|<>()", begin), command.size());
  const std::string word = command.substr(begin, end - begin);
  return std::all_of(word.begin(), word.end(), is_plain) ? word : std::string();
}

std::vector<std::string> line_of(const CloseCommand& what) {
  return {"timeout",  kGrace,    std::to_string(what.seconds_max),
          "sh",       "-c",      script_of(what.command),
          "on_close", what.path, what.crc32c};
}

}  // namespace

CloseCounts operator-(const CloseCounts& left, const CloseCounts& right) {
  WEIR_ASSERT(left.started >= right.started && left.bad() >= right.bad());
  return {left.started - right.started,
          left.failed - right.failed,
          left.ended_by_limit - right.ended_by_limit,
          left.dropped - right.dropped,
          left.unfinished,
          left.bad() > right.bad() ? left.last_failure : std::string()};
}

std::string describe(const CloseCounts& counts) {
  std::string text;
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(counts.failed, "failed");
  add(counts.ended_by_limit, "ended by writer.on_close_s");
  add(counts.dropped, "never started, because too many waited");
  if (!counts.last_failure.empty()) text += " (last: " + counts.last_failure + ")";
  add(counts.unfinished, "not ended yet");
  return text.empty() ? text : "writer.on_close: of the commands for closed files " + text;
}

std::string unusable(const std::string& command) {
  if (command.empty()) return {};
  if (status_of({"timeout", "5", "true"}) != 0)
    return "writer.on_close needs `timeout` of coreutils, which is not in PATH";
  if (status_of({"sh", "-n", "-c", script_of(command)}) != 0)
    return "writer.on_close: the shell cannot read '" + command + "'";
  const std::string program = program_of(command);
  if (program.empty()) return {};
  if (status_of({"sh", "-c", "command -v \"$1\"", "sh", program}) != 0)
    return "writer.on_close: no program '" + program + "' exists";
  const bool is_path = program.find('/') != std::string::npos;
  if (is_path && status_of({"sh", "-c", "test -f \"$1\" && test -x \"$1\"", "sh", program}) != 0)
    return "writer.on_close: '" + program + "' is not a program";
  return {};
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
      note_failure("never started", command);
      if (counts_.dropped++ == 0)
        spdlog::error("on_close skipped waiting_files={} file={}", kWaitingMax, command.path);
      return;
    }
    waiting_.push_back(std::move(command));
  }
  changed_.notify_all();
}

CloseCounts CloseCommands::counts() const {
  const std::lock_guard lock(mutex_);
  CloseCounts counts = counts_;
  counts.unfinished = waiting_.size() + running_.size();
  return counts;
}

void CloseCommands::note_failure(const std::string& how, const CloseCommand& what) {
  counts_.last_failure = how + ": " + what.path;
}

// Expects the lock, as all below.
void CloseCommands::start_some() {
  while (!waiting_.empty() && running_.size() < at_once_max_) {
    Running child{0, std::move(waiting_.front()), monotonic_now_ns()};
    waiting_.pop_front();
    ++counts_.started;
    if (const int error = Beginning().start(line_of(child.what), child.pid); error != 0) {
      ++counts_.failed;
      note_failure("cannot be started", child.what);
      spdlog::error("on_close not started reason=\"coreutils' timeout\" errno={} command=\"{}\" file={}",
                    error, child.what.command, child.what.path);
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
      note_failure("took longer than " + std::to_string(child.what.seconds_max) + " s", child.what);
      spdlog::error("on_close timed out on_close_s={} command=\"{}\" file={}", child.what.seconds_max,
                    child.what.command, child.what.path);
    } else if (end != 0) {
      ++counts_.failed;
      note_failure("status " + std::to_string(end), child.what);
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

// Passes all files of one command and limit as arguments to one shell. (They differ if runs were
// reconfigured.)
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
    WEIR_ASSERT(line.size() > 6 && line.size() % 2 == 0);
    pid_t pid = 0;
    const std::size_t files = (line.size() - 6) / 2;
    if (const int error = Beginning().start(line, pid); error != 0) {
      spdlog::error("on_close not started errno={} command=\"{}\" files={}", error, first.command, files);
    } else {
      spdlog::info("on_close continues after this process pid={} files={}", pid, files);
    }
  }
}

}  // namespace weir::writer
