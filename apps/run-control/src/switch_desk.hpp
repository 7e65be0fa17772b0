#pragma once

#include "farm_setup.hpp"
#include <weir/base/time.hpp>
#include <weir/control/health.hpp>
#include <weir/v1/bus.pb.h>

#include <map>
#include <string>
#include <vector>

namespace weir::run_control {

// Gives the farm's switches (control.switches) their tables, and keeps their last reports.
class SwitchDesk {
 public:
  // A switch that is silent for so long is a finding. `setup` outlives the desk.
  SwitchDesk(const FarmSetup& setup, DurationNs silence_ns, TimeNs now_ns)
      : setup_(setup), silence_ns_(silence_ns), begin_ns_(now_ns) {}

  // Takes a report, and returns the answer, which has the switch's table unless it uses that one already. Of
  // several processes under one name the last that started gets an answer; the others are refused.
  [[nodiscard]] v1::SwitchTable take(const v1::SwitchReport& report, TimeNs now_ns);
  [[nodiscard]] std::vector<control::Finding> findings(TimeNs now_ns) const;
  void add_to(v1::FarmView& view, TimeNs now_ns) const;
  // Adds the depth of each ring, for the history: "switch/daq/dcm-0/waiting_frames".
  void add_to(std::map<std::string, double>& values, TimeNs now_ns) const;

 private:
  struct Heard {
    v1::SwitchReport report;
    TimeNs at_ns = 0;
    TimeNs other_at_ns = -1;  // when another process used the name; -1: never
    std::string other_host;
  };
  // Returns what keeps the switch from using its table alone; empty: nothing.
  [[nodiscard]] std::string problem_of(const std::string& name, TimeNs now_ns) const;

  const FarmSetup& setup_;
  DurationNs silence_ns_;
  TimeNs begin_ns_;
  std::map<std::string, Heard> heard_;  // by name, of the farm's switches only
};

}  // namespace weir::run_control
