#pragma once

#include "skip.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

// Skips a test that needs root for its virtual network.
namespace weir::test {

inline bool may_make_namespaces() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(::unshare(CLONE_NEWNET) == 0 ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace weir::test

#define NEEDS_ROOT()                               \
  if (!weir::test::may_make_namespaces()) {        \
    weir::skip_test("virtual networks need root"); \
    return;                                        \
  }                                                \
  static_cast<void>(0)
