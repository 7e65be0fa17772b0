#pragma once

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::test {

// Runs the action in a child process. Returns what WEIR_ASSERT wrote when it ended that process; empty if the
// process ended in another way. Requires: no other thread holds a lock that the action takes.
template <class Action>
[[nodiscard]] std::string broken_invariant(Action action) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    std::signal(SIGABRT, SIG_DFL);
    action();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[1024];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  const bool ended = child > 0 && ::waitpid(child, &status, 0) == child;
  return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : std::string();
}

}  // namespace weir::test
