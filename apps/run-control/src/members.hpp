#pragma once

#include <weir/base/ids.hpp>
#include <weir/bus/hub.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/disk_space.hpp>
#include <weir/control/preflight.hpp>
#include <weir/v1/bus.pb.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// Space on the disks of folders, by folder; only known ones.
using Spaces = std::map<std::string, control::DiskSpace>;

// A process of the farm: its address and its reports. Its orders are the machine's matter.
struct Process {
  std::string client;  // client of the bus; empty: never joined
  std::string host;
  std::uint32_t pid = 0;
  std::string pid_space;  // node::pid_space(), of which the pid is
  std::string began;      // began() of the pid when it joined; empty: on another machine, or unknown
  std::string metrics;
  std::string software;
  std::string after;         // how the process that it replaced had ended; empty: unknown
  std::string ended_by;      // why run control ended it; empty: it did not
  v1::Report report;         // its last one
  v1::RunIdentity identity;  // its part in the identity of a run with its configuration
  // Its folder (MemberState.out), and the run; kept for the next process in its place.
  std::string out;
  RunNumber out_run;
  std::vector<control::FolderPlace> places;  // of its folders for data, those that it knows
  Spaces spaces;
  control::ClockOffset clock;  // of its host
};

// Returns the time at which the process with this number began, in clock ticks since the boot: numbers are
// used again. Empty: no process has it. "-": its process has ended, and was not waited for.
[[nodiscard]] std::string began(std::uint32_t pid);
// On this machine, and there no more: its silence need not be waited for.
[[nodiscard]] bool is_dead(const Process& process);

// Which processes are members, and where they are. Members are named by their place among the machine's.
class Members {
 public:
  explicit Members(std::size_t count) : processes_(count) {}

  // Another connection, or another process, takes the place.
  void joined(std::size_t member, const bus::Sender& from, const v1::Join& join);
  void left(const std::string& client) { by_client_.erase(client); }
  // Returns nullopt for clients that never joined or have left.
  [[nodiscard]] std::optional<std::size_t> of(const std::string& client) const;
  void reported(std::size_t member, v1::Report report) { processes_[member].report = std::move(report); }
  // Run control has ended it: that is how it ended, whatever its starter reports.
  void was_ended(std::size_t member, const std::string& why) { processes_[member].ended_by = why; }
  // Records the parts that the process would load, or has loaded. Omitted lists of files stay unchanged.
  void is_made_of(std::size_t member, const v1::RunIdentity& identity);
  // Records the clock of the process when it sent a heartbeat; 0: unknown.
  void has_clock(std::size_t member, UtcNs sent, UtcNs received, TimeNs now);
  // Records where its folders are.
  void writes_to(std::size_t member, const v1::MemberState& state);
  // A run begins: reports so far belong to the previous one.
  void forget_reports();
  // Records the supervisor's own address for this run; others reach it through its host's address.
  void supervisor_listens(RunNumber run, const std::string& endpoint, const std::string& address);

  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] const Process& operator[](std::size_t member) const { return processes_[member]; }
  // Folder of the process or its predecessor; empty: none began this run.
  [[nodiscard]] std::string out(std::size_t member, RunNumber run) const;
  // host:port; empty: not reported in this run.
  [[nodiscard]] std::string supervisor(RunNumber run) const { return run == run_ ? supervisor_ : ""; }

 private:
  std::vector<Process> processes_;
  std::map<std::string, std::size_t> by_client_;
  RunNumber run_;  // the run of supervisor_
  std::string supervisor_;
};

}  // namespace weir::run_control
