#pragma once

#include "process.hpp"

#include <boost/json/value.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::system_test {

// The summary of a run, as its file says.
class Summary {
 public:
  Summary() = default;
  explicit Summary(boost::json::value value) : value_(std::move(value)) {}

  [[nodiscard]] const boost::json::value& json() const { return value_; }
  // Returns the count at a path like "fragments.missing.deadline"; 0 if absent, because reasons that did not
  // occur are left out.
  [[nodiscard]] std::uint64_t count(std::string_view path) const;
  // Returns the counts of a group of DCMs. Throws std::runtime_error without one.
  [[nodiscard]] Summary group(std::string_view name) const;
  // The sum of an object of counts: count_all("vetoed").
  [[nodiscard]] std::uint64_t count_all(std::string_view path) const;
  [[nodiscard]] std::string text(std::string_view path) const;
  [[nodiscard]] bool balanced() const;
  // Why the ledger does not balance: its lines that are not good.
  [[nodiscard]] std::string imbalance() const;
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  [[nodiscard]] const boost::json::value* find(std::string_view path) const;
  boost::json::value value_;
};

struct FarmEnd {
  int status = 0;
  std::string out;
  std::string err;
  Summary summary;   // empty if the run wrote none
  std::string logs;  // the last lines of each node, for messages of failed tests
};

// A running `weir run`, started as a child of the test; its nodes are its children.
class FarmRun {
 public:
  // Starts `weir run FARM` with `arguments`; adds --out and --summary.
  FarmRun(const TemporaryFolder& folder, const std::string& farm_file, std::vector<std::string> arguments,
          std::string out = {});
  // Shows the processes' output when a REQUIRE has failed; it would be lost otherwise.
  ~FarmRun();
  FarmRun(const FarmRun&) = delete;
  FarmRun& operator=(const FarmRun&) = delete;

  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] Process& process() { return *process_; }
  // Its log so far.
  [[nodiscard]] std::string log(const std::string& node) const;
  [[nodiscard]] bool wait_for_log(const std::string& node, const std::string& text,
                                  Seconds patience = Seconds(30)) const;
  // Waits until the run has begun and its run files hold at least `bytes`.
  [[nodiscard]] bool wait_for_data(std::uint64_t bytes, Seconds patience = Seconds(30)) const;
  [[nodiscard]] std::uint64_t data_bytes() const;
  // Waits for the node's log line and returns its port.
  [[nodiscard]] std::uint16_t port_of(const std::string& node) const;
  // Where `weir run` says that triggers are taken.
  [[nodiscard]] std::uint16_t trigger_port() const;
  // HOST:PORT of its run control, as `weir run` says.
  [[nodiscard]] std::string control_at() const;
  // Returns the pid of a node, or of `run-control`; 0 if the process does not exist.
  [[nodiscard]] pid_t pid_of(const std::string& node) const;
  // Sends a signal; waits for the process if it is being started.
  bool send_signal(const std::string& node, int signal) const;
  // Number of running processes of this run, including `weir run` itself.
  [[nodiscard]] std::size_t processes() const;
  // Waits for the end of the run; fails the test if it does not end in time.
  [[nodiscard]] FarmEnd finish(Seconds patience = Seconds(90));

 private:
  // Returns the output of its processes so far.
  [[nodiscard]] FarmEnd so_far() const;

  const TemporaryFolder& folder_;
  std::string out_;
  std::string summary_file_;
  std::unique_ptr<Process> process_;
};

[[nodiscard]] std::string config_file(const std::string& name);  // path of a file in configs/
[[nodiscard]] FarmEnd run_farm(const TemporaryFolder& folder, const std::string& farm_file,
                               std::vector<std::string> arguments);
// "--set", "a=1", "--set", "b=2" from {"a=1", "b=2"}.
[[nodiscard]] std::vector<std::string> sets(const std::vector<std::string>& assignments);
// Formats the end of a run for the message of a failed check.
[[nodiscard]] std::string describe(const FarmEnd& end);

}  // namespace weir::system_test

// Checks that a run ended with this status and that its ledger balances.
#define CHECK_BALANCED(end, expected_status)  \
  do {                                        \
    INFO(describe(end));                      \
    CHECK((end).status == (expected_status)); \
    CHECK((end).summary.imbalance() == "");   \
    CHECK((end).summary.balanced());          \
  } while (false)
