#pragma once

#include <weir/base/ids.hpp>
#include <weir/bus/hub.hpp>
#include <weir/v1/bus.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// A process of the farm: where it is, and what it has told. What it is to do, the machine knows.
struct Process {
  std::string client;  // of the bus; empty: never there
  std::string host;
  std::uint32_t pid = 0;
  std::string pid_space;  // node::pid_space(), of which the pid is
  std::string metrics;
  std::string software;
  v1::Report report;         // its last one
  v1::RunIdentity identity;  // what a run of its configuration has of it
  // Where it writes (MemberState.out), and in which run; kept for the process that takes its place.
  std::string out;
  RunNumber out_run;
};

// On this machine, and there no more: its silence need not be waited for.
[[nodiscard]] bool is_dead(const Process& process);

// Which processes are members, and where they are. Members are named by their place among the machine's.
class Members {
 public:
  explicit Members(std::size_t count) : processes_(count) {}

  // Another connection, or another process, takes the place.
  void joined(std::size_t member, const bus::Sender& from, const v1::Join& join);
  void left(const std::string& client) { by_client_.erase(client); }
  // Empty: of none that has joined, or that left since.
  [[nodiscard]] std::optional<std::size_t> of(const std::string& client) const;
  void reported(std::size_t member, v1::Report report) { processes_[member].report = std::move(report); }
  // What the process would load, or has loaded. Lists of files that are left out stay as they were.
  void is_made_of(std::size_t member, const v1::RunIdentity& identity);
  void writes_to(std::size_t member, const v1::MemberState& state);
  // A run begins: what was told before is of another.
  void forget_reports();
  // Where this run's supervisor listens, as it says itself; others reach it through its host's address.
  void supervisor_listens(RunNumber run, const std::string& endpoint, const std::string& address);

  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] const Process& operator[](std::size_t member) const { return processes_[member]; }
  // Of the process, or the one before it; empty: none began this run.
  [[nodiscard]] std::string out(std::size_t member, RunNumber run) const;
  // host:port; empty: this run's has not said.
  [[nodiscard]] std::string supervisor(RunNumber run) const { return run == run_ ? supervisor_ : ""; }

 private:
  std::vector<Process> processes_;
  std::map<std::string, std::size_t> by_client_;
  RunNumber run_;  // of which this is the supervisor:
  std::string supervisor_;
};

}  // namespace weir::run_control
