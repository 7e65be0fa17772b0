#pragma once

#include "farm_setup.hpp"
#include "switch_accounts.hpp"
#include <weir/base/time.hpp>
#include <weir/control/health.hpp>
#include <weir/v1/bus.pb.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// Gives the farm's switches (control.switches) their tables, and keeps their last reports and their accounts
// of the run.
class SwitchDesk {
 public:
  // A switch that is silent for so long is a finding. `setup` outlives the desk.
  SwitchDesk(const FarmSetup& setup, DurationNs silence_ns, TimeNs now_ns)
      : setup_(setup), silence_ns_(silence_ns), begin_ns_(now_ns) {}

  // Takes a report of a client of the bus, and returns the answer, which has the switch's table unless it
  // uses that one already. Of several processes under one name the last that started gets an answer; the
  // others are refused.
  [[nodiscard]] v1::SwitchTable take(const std::string& client, const v1::SwitchReport& report,
                                     TimeNs now_ns);
  // A run begins. Returns a message to each connected switch: its client, and the run.
  [[nodiscard]] std::vector<std::pair<std::string, v1::SwitchTable>> begin(RunNumber run, UtcNs begin_utc,
                                                                           TimeNs now_ns);
  // Each turn: notes which switches are silent.
  void look(TimeNs now_ns);
  [[nodiscard]] SwitchAccounts& accounts() { return accounts_; }
  [[nodiscard]] const SwitchAccounts& accounts() const { return accounts_; }
  [[nodiscard]] std::vector<control::Finding> findings(TimeNs now_ns) const;
  void add_to(v1::FarmView& view, TimeNs now_ns) const;
  // Adds the depth of each ring, for the history: "switch/daq/dcm-0/waiting_frames".
  void add_to(std::map<std::string, double>& values, TimeNs now_ns) const;

 private:
  struct Heard {
    std::string client;
    v1::SwitchReport report;
    TimeNs at_ns = 0;
    TimeNs dropped_ns = -1;   // when it has last dropped frames for lack of room; -1: never
    TimeNs other_at_ns = -1;  // when another process used the name; -1: never
    std::string other_host;
  };
  // Returns what keeps the switch from using its table alone; empty: nothing.
  [[nodiscard]] std::string problem_of(const std::string& name, TimeNs now_ns) const;
  [[nodiscard]] bool drops(const std::string& name, TimeNs now_ns) const;

  const FarmSetup& setup_;
  DurationNs silence_ns_;
  TimeNs begin_ns_;
  std::map<std::string, Heard> heard_;  // by name, of the farm's switches only
  SwitchAccounts accounts_;
};

}  // namespace weir::run_control
