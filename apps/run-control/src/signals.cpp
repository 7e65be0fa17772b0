#include "signals.hpp"

#include <weir/base/assert.hpp>
#include <weir/node/setup.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace weir::run_control {
namespace {

constexpr std::pair<std::string_view, int> kSignals[] = {
    {"KILL", SIGKILL}, {"TERM", SIGTERM}, {"INT", SIGINT},  {"STOP", SIGSTOP},
    {"CONT", SIGCONT}, {"ABRT", SIGABRT}, {"SEGV", SIGSEGV}};

// A process, identified independently of its reusable number.
class Handle {
 public:
  explicit Handle(std::uint32_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] bool send(int signal) const {
    return ::syscall(SYS_pidfd_send_signal, fd_, signal, nullptr, 0) == 0;
  }

 private:
  int fd_;
};

std::vector<std::string> words_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// A reported process number may have been reused, and a process may report any number.
bool is_node(std::uint32_t pid, const std::string& name) {
  const std::vector<std::string> words = words_of(pid);
  if (words.empty() || words[0].substr(words[0].rfind('/') + 1).rfind("weir-", 0) != 0) return false;
  const auto at = std::find(words.begin(), words.end(), "--name");
  return (at != words.end() && at + 1 != words.end() && *(at + 1) == name) ||
         std::find(words.begin(), words.end(), "--name=" + name) != words.end();
}

struct Target {
  std::size_t member;
  Handle handle;
};

Expected<Target, std::string> target_of(std::size_t member, const Parts& parts) {
  const std::string& name = parts.machine.members()[member].plan.name;
  WEIR_ASSERT(member < parts.members.size());
  const Process& process = parts.members[member];
  const auto refused = [](const std::string& why) { return Unexpected<std::string>(why); };
  if (process.pid == 0) return refused(name + " is not there");
  if (process.pid_space.empty() || process.pid_space != node::pid_space())
    return refused(fmt::format("{} is process {} on another host, {}: signal it there", name, process.pid,
                               process.host));
  Handle handle(process.pid);
  if (!handle.is_open() || !is_node(process.pid, name)) return refused(name + " no longer exists");
  return Target{member, std::move(handle)};
}

}  // namespace

std::string send_signals(const v1::Request& request, Parts& parts) {
  std::string wanted = request.signal().empty() ? "KILL" : request.signal();
  if (wanted.starts_with("SIG")) wanted.erase(0, 3);
  const auto signal = std::find_if(std::begin(kSignals), std::end(kSignals),
                                   [&](const auto& one) { return one.first == wanted; });
  if (signal == std::end(kSignals))
    return "'" + wanted + "' is none of the signals KILL, TERM, INT, STOP, CONT, ABRT, SEGV";
  if (request.nodes().empty()) return "kill takes the names of processes";
  std::vector<Target> targets;
  for (const std::string& name : request.nodes()) {
    const auto member = parts.machine.find(name);
    if (!member) return "the farm has no process '" + name + "'";
    auto target = target_of(*member, parts);
    if (!target) return target.error();
    targets.push_back(std::move(*target));
  }
  for (const Target& target : targets) {
    const std::string& name = parts.machine.members()[target.member].plan.name;
    if (!target.handle.send(signal->second))
      return fmt::format("cannot signal {}: {}", name, std::strerror(errno));
    parts.log.note(control::Level::warning, fmt::format("{} (process {}) got SIG{} from an operator", name,
                                                        parts.members[target.member].pid, wanted));
  }
  return {};
}

std::string kill_member(std::size_t member, Parts& parts) {
  const auto target = target_of(member, parts);
  if (!target) return target.error();
  return target->handle.send(SIGKILL) ? std::string() : std::strerror(errno);
}

}  // namespace weir::run_control
