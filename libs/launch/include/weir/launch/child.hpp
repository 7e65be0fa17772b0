#pragma once

#include <weir/base/expected.hpp>
#include <weir/node/log_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::launch {

// How a process ended, and what it used.
struct ProcessEnd {
  int status = 0;  // exit status, or minus the number of the signal that ended it
  double cpu_s = 0;
  std::uint64_t rss_max_bytes = 0;

  [[nodiscard]] bool well() const { return status == 0; }
};

// "status 1", "signal 9 (Killed)"
[[nodiscard]] std::string describe(const ProcessEnd& end);

struct ChildSettings {
  std::string program;  // path
  std::vector<std::string> arguments;
  std::string log_file;  // standard error, and standard output unless that is read
  // Continues the log; else one that is there is closed under another name (node::close_log).
  bool append_log = false;
  std::uint32_t log_files_kept = node::kLogFilesKept;
  bool read_output = false;  // standard output comes through take_output()
  int network = -1;          // descriptor of the network namespace that it runs in; -1: the caller's
};

// One process that this one started: in a process group of its own (the terminal's Ctrl-C does not reach it),
// without standard input or any other open file, killed by the kernel when this process is gone. Its
// descendants are killed when it has ended, in other groups and sessions, too. The thread that starts it must
// live as long as it does.
class Child {
 public:
  Child() = default;
  ~Child();  // kills what still runs
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The error is a sentence. A program that cannot be executed ends with status 127 and says so in the log.
  [[nodiscard]] static Expected<Child, std::string> start(const ChildSettings& settings);

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Never waits. Once, when the process has ended.
  [[nodiscard]] std::optional<ProcessEnd> poll();
  void send_signal(int signal) const;
  // What it has written to standard output since the last call.
  [[nodiscard]] std::string take_output();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace weir::launch
