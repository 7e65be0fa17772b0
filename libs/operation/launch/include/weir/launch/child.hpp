#pragma once

#include <weir/base/expected.hpp>
#include <weir/node/log_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::launch {

// How a process ended, and the resources it used.
struct ProcessEnd {
  int status = 0;  // exit status, or the negative number of the signal that ended it
  double cpu_s = 0;
  std::uint64_t rss_max_bytes = 0;

  [[nodiscard]] bool well() const { return status == 0; }
};

// Returns "status 1", "signal 9 (Killed)".
[[nodiscard]] std::string describe(const ProcessEnd& end);

struct ChildSettings {
  std::string program;  // path
  std::vector<std::string> arguments;
  std::string log_file;  // for standard error, and for standard output unless that is read
  // Continues an existing log; otherwise it is closed under another name (node::close_log).
  bool append_log = false;
  std::uint32_t log_files_kept = node::kLogFilesKept;
  bool read_output = false;  // standard output is available through take_output()
  int network = -1;          // descriptor of its network namespace; -1: the caller's
};

// A child process in a separate process group (the terminal's Ctrl-C does not reach it), without standard
// input or any other open file, killed by the kernel when this process ends. When it has ended, its
// descendants are killed, also those in other groups and sessions. Requires: the thread that starts it lives
// as long as the child.
class Child {
 public:
  Child() = default;
  ~Child();  // kills the process if it still runs
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts a process. A program that cannot be executed ends with status 127, with the reason in the log.
  [[nodiscard]] static Expected<Child, std::string> start(const ChildSettings& settings);

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Returns the end of the process, once. Never blocks.
  [[nodiscard]] std::optional<ProcessEnd> poll();
  void send_signal(int signal) const;
  // True while a signal (SIGSTOP) has stopped it.
  [[nodiscard]] bool is_stopped() const;
  // Returns its standard output since the last call.
  [[nodiscard]] std::string take_output();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace weir::launch
