#pragma once

#include <weir/run/farm_command.hpp>

#include <cstdio>
#include <string>

namespace weir::run {

struct UpOptions {
  FarmOptions farm;
  std::string listen;  // host:port of run control; empty: control.listen, else a free port of loopback
  std::string page;    // host:port of its page; empty: control.page
  std::string log_level;
  bool detach = false;  // continues in the background once the farm is up: see farm_up()
};

// Runs run control and every process of the farm on this machine until `weir ctl off` or a signal (`weir
// up`). A process that dies is restarted. Returns the exit status. With `detach` it returns when every
// process was started, or with the status of the failure; the process must have one thread then. It returns
// twice: in the caller, and in a child process when the farm has ended.
[[nodiscard]] int farm_up(const UpOptions& options, std::FILE* out, std::FILE* err);

}  // namespace weir::run
