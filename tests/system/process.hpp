#pragma once

#include "temporary_folder.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

// Building blocks of system tests: processes, waits with a limit, temporary folders.
namespace weir::system_test {

using Seconds = std::chrono::duration<double>;

// Polls the condition every few milliseconds; returns false when `patience` has passed.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition, Seconds patience);

// Made for one test, removed with all it holds. Processes that name the folder on their command line do not
// outlive it.
class TemporaryFolder : public test::TemporaryFolder {
 public:
  TemporaryFolder() = default;
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

[[nodiscard]] std::string read_file(const std::filesystem::path& path);

struct RunningProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::vector<std::string> arguments;  // including the program
};
// Returns all processes whose command line contains `text`.
[[nodiscard]] std::vector<RunningProcess> processes_naming(const std::string& text);

// A child of the test. Killed when the object, or the test, ends.
class Process {
 public:
  // Standard output and standard error go to these files.
  Process(const std::vector<std::string>& arguments, std::string out_file, std::string err_file);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Returns the exit status, or minus the signal; nullopt if it still runs after `patience`.
  [[nodiscard]] std::optional<int> wait(Seconds patience);
  void send_signal(int signal) const;
  [[nodiscard]] std::string out() const { return read_file(out_file_); }
  [[nodiscard]] std::string err() const { return read_file(err_file_); }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string out_file_;
  std::string err_file_;
};

struct CommandEnd {
  int status = 0;
  std::string out;
  std::string err;
};
constexpr int kStoppedWithFaults = 5;  // weir ctl stop: the ledger balances, and the run survived faults

// Runs a built executable to its end; fails the test if it takes too long.
[[nodiscard]] CommandEnd run_command(const TemporaryFolder& folder, const std::string& program,
                                     const std::vector<std::string>& arguments);
// Throws unless this end of `weir ctl stop` reports a run that survived faults, and the first one contains
// `fault`. `logs` are for the message.
void require_faults(const CommandEnd& stop, const std::string& fault, const std::string& logs);

}  // namespace weir::system_test
