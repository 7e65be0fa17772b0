#pragma once

#include <stdexcept>
#include <sys/time.h>

namespace weir::test {

// Ends the process by SIGPROF after so many further seconds of CPU time; 0 removes the limit. This finds
// endless loops, and does not mistake a busy machine or a stopped process for one.
inline void limit_cpu(unsigned seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  if (::setitimer(ITIMER_PROF, &limit, nullptr) != 0) throw std::runtime_error("setitimer");
}

}  // namespace weir::test
