#pragma once

#include <cstdio>
#include <string>
#include <unistd.h>

namespace weir {

constexpr int kSkippedStatus =
    77;  // exit status of a test program that has skipped a test, as ctest is configured

// Reports a skip; the calling test then returns, because a requirement is missing. The program's other tests
// run: if they pass it ends with kSkippedStatus, and if one fails, with the failure. So a skip neither counts
// as passed nor hides a failure.
inline void skip_test(const std::string& why) {
  std::printf("SKIPPED: %s\n", why.c_str());
  std::fflush(stdout);
  static const pid_t self = ::getpid();
  [[maybe_unused]] static const int once = ::on_exit(
      [](int status, void*) {
        if (status != 0 || ::getpid() != self) return;
        std::fflush(nullptr);
        ::_exit(kSkippedStatus);
      },
      nullptr);
}

}  // namespace weir
