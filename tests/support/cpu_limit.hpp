#pragma once

#include <stdexcept>
#include <sys/time.h>

namespace weir::test {

// The process ends by SIGPROF when it has used so many seconds of the CPU from now on; 0: no limit any more.
// What never ends is found so, and a machine that is busy, or a process that was stopped for a while, is not
// taken for it.
inline void limit_cpu(unsigned seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  if (::setitimer(ITIMER_PROF, &limit, nullptr) != 0) throw std::runtime_error("setitimer");
}

}  // namespace weir::test
