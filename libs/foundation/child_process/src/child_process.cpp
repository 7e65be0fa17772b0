#include <weir/base/assert.hpp>
#include <weir/child_process/child_process.hpp>
#include <weir/orphans/orphans.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::child_process {
namespace {

// Returns a mark that no other child of this process has, whichever object starts it: a child's end ends all
// processes with its mark.
std::string next_mark(const std::string& name) {
  static std::atomic<std::uint64_t> started{0};
  return name + "=" + std::to_string(::getpid()) + "-" + std::to_string(++started);
}

std::string printable(ConstBytes note) {
  const auto* text = reinterpret_cast<const char*>(note.data());
  std::string out(text, ::strnlen(text, note.size()));
  for (char& c : out) {
    const bool shown = c == '\n' || (c >= ' ' && c <= '~');
    if (!shown) c = '?';
  }
  return out;
}

}  // namespace

std::string start_error(const std::string& purpose, const char* call) {
  return "cannot start " + purpose + ": " + call + ": " + std::strerror(errno);
}

std::string ChildEnd::text() const {
  if (!by_signal) return "exit status " + std::to_string(status);
  const char* name = ::strsignal(status);
  return "signal " + std::to_string(status) + " (" + (name != nullptr ? name : "unknown") + ")";
}

std::string ChildProcess::start(const ChildStart& start) {
  WEIR_ASSERT(pid_ == 0 && start.note > STDERR_FILENO);
  if (!output_.open()) return start_error(start.purpose, "descriptors");
  if (!note_.open("weir-crash-note", kNoteMax)) return start_error(start.purpose, "memfd_create");
  Beginning beginning;
  for (const auto& [from, to] : start.descriptors) beginning.pass_on(from, to);
  beginning.pass_on(note_.descriptor(), start.note);
  for (const int to : {STDOUT_FILENO, STDERR_FILENO}) beginning.pass_on(output_.descriptor(), to);
  mark_ = next_mark(start.mark);
  if (const int error = beginning.start(start.command, mark_, pid_); error != 0)
    return "cannot start " + start.purpose + ": " + start.command.front() + ": " + std::strerror(error);
  output_.started();
  pidfd_ = OwnedDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (pidfd_.is_open()) return {};
  std::string why = start_error(start.purpose, "pidfd_open");
  give_up();
  return why;
}

void ChildProcess::kill(bool hard) {
  WEIR_ASSERT(pid_ > 0);
  killed_hard_ = killed_hard_ || hard;
  if (!end_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), hard ? SIGKILL : SIGQUIT, nullptr, 0);
}

const std::optional<ChildEnd>& ChildProcess::end() {
  if (end_) return end_;
  siginfo_t info{};
  constexpr auto kPidfd = static_cast<idtype_t>(3);  // P_PIDFD
  const auto look = [&](int flags) {
    return ::waitid(kPidfd, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG | flags);
  };
  output_.pass_on(false);
  if (look(WNOWAIT) != 0 || info.si_pid == 0) return end_;
  // Ends forked children, too. Before the child is reaped: after that the kernel may reuse its number.
  ::kill(-pid_, SIGKILL);
  (void)look(0);
  orphans::end_descendants(pid_, mark_);
  output_.pass_on(true);
  end_ = ChildEnd{info.si_code != CLD_EXITED, info.si_status, killed_hard_, printable(note_.bytes())};
  return end_;
}

void ChildProcess::give_up() const {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace weir::child_process
