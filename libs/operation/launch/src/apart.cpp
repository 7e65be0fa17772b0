#include "owner_mark.hpp"
#include <weir/clock/clock.hpp>
#include <weir/launch/apart.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::launch {
namespace {

constexpr int kLookMs = 20;

void write_all(int to, const void* bytes, std::size_t size) {
  const char* rest = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t now = ::write(to, rest, size);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return;
    rest += now;
    size -= static_cast<std::size_t>(now);
  }
}

// The text goes behind its size: a child that ends before has not answered.
[[noreturn]] void answer(const std::function<std::string()>& work, pid_t parent, int to) {
  ::setpgid(0, 0);
  // With its parent this process ends, and those that it started and may be waiting for.
  std::signal(SIGTERM, [](int) { ::kill(0, SIGKILL); });
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  ::setenv(kOwnerVariable, std::to_string(::getpid()).c_str(), 1);
  std::string text;
  try {
    text = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(1);
  }
  std::fflush(nullptr);  // text that a plugin printed
  const std::uint64_t size = text.size();
  write_all(to, &size, sizeof size);
  write_all(to, text.data(), text.size());
  ::_exit(0);
}

bool is_whole(const std::string& answer) {
  std::uint64_t size = 0;
  if (answer.size() < sizeof size) return false;
  std::memcpy(&size, answer.data(), sizeof size);
  return answer.size() - sizeof size >= size;
}

void read_more(int from, std::string& answer) {
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(from, bytes, sizeof bytes)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(got));
}

bool has_ended(pid_t child) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid == child;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ends its process with signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("ends its process with status {}", WEXITSTATUS(status));
}

}  // namespace

Expected<std::string, std::string> run_apart(const std::function<std::string()>& work, DurationNs limit) {
  orphans::adopt();
  std::fflush(nullptr);  // the child would print it again
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Unexpected<std::string>(std::string("cannot be tried: ") + std::strerror(errno));
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) answer(work, self, ends[1]);
  const int why = errno;
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return Unexpected<std::string>(std::string("cannot be tried: ") + std::strerror(why));
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const TimeNs until = monotonic_now_ns() + limit;
  std::string text;
  bool ended = false;
  while (!is_whole(text) && !ended && monotonic_now_ns() < until) {
    ended = has_ended(child);
    read_more(ends[0], text);
    if (is_whole(text) || ended) break;
    pollfd output{ends[0], POLLIN, 0};
    (void)::poll(&output, 1, kLookMs);
    if ((output.revents & POLLIN) == 0 && (output.revents & POLLHUP) != 0) (void)::poll(nullptr, 0, 1);
  }
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end_orphans_of(child);
  ::close(ends[0]);
  if (is_whole(text)) return text.substr(sizeof(std::uint64_t));
  if (ended) return Unexpected<std::string>(how_it_ended(status));
  return Unexpected<std::string>(fmt::format("does not answer within {:g} s",
                                             static_cast<double>(limit) / static_cast<double>(kSecond)));
}

}  // namespace weir::launch
