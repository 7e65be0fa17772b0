#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace weir::writer {

struct CloseCounts {
  std::uint64_t started = 0;
  std::uint64_t failed = 0;          // ended with another status than 0, or could not be started
  std::uint64_t ended_by_limit = 0;  // exceeded their time limit; not included in `failed`
  std::uint64_t dropped = 0;         // never started: too many waited
  std::uint64_t unfinished = 0;      // running, or waiting for their turn
  std::string last_failure;  // "status 1: FILE"; of the last command that failed, was ended or dropped

  [[nodiscard]] std::uint64_t bad() const { return failed + ended_by_limit + dropped; }
};
// Returns the counts since `right`.
[[nodiscard]] CloseCounts operator-(const CloseCounts& left, const CloseCounts& right);
// Describes the commands that failed, were ended or dropped; empty if none.
[[nodiscard]] std::string describe(const CloseCounts& counts);

// Why `command` cannot be run on any file, as a sentence: the shell cannot read it, or finds no such program.
// Empty: neither.
[[nodiscard]] std::string unusable(const std::string& command);

// A command to run on a closed file: `sh -c 'COMMAND "$@"'` with its path and CRC32C.
struct CloseCommand {
  std::string command;
  std::string path;
  std::string crc32c;
  std::uint32_t seconds_max = 1;
};

// Runs commands beside this process: a limited number at a time, each for a limited time (coreutils'
// `timeout` ends it). They inherit only standard output and error, and run in separate sessions, so that they
// outlive this process. A separate thread starts them and waits for them.
class CloseCommands {
 public:
  static constexpr std::size_t kWaitingMax = 10'000;

  CloseCommands();
  // Running commands continue, and end at their limit. Waiting ones are passed to a process that runs them
  // one after the other.
  ~CloseCommands();
  CloseCommands(const CloseCommands&) = delete;
  CloseCommands& operator=(const CloseCommands&) = delete;

  // Never waits. `at_once_max`: counts from now on.
  void add(CloseCommand command, std::size_t at_once_max);
  [[nodiscard]] CloseCounts counts() const;

 private:
  struct Running {
    pid_t pid = 0;
    CloseCommand what;
    std::int64_t begun_ns = 0;
  };
  void run();
  void start_some();
  void see_ends();
  void hand_over();
  void note_failure(const std::string& how, const CloseCommand& what);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CloseCommand> waiting_;
  std::vector<Running> running_;  // the thread's own
  std::size_t at_once_max_ = 1;
  CloseCounts counts_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace weir::writer
