#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/control/farm_machine.hpp>
#include <weir/control/states.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

enum class Condition : std::uint8_t {
  process_gone,
  process_error,
  run_seconds,
  livetime_below,
  rate_below,
  no_triggers_s,
  reason
};
enum class Act : std::uint8_t { warn, stop, pause, continue_run, start_next, restart, reset };

struct Rule {
  std::string name;
  Condition when = Condition::reason;
  std::string reason;           // for Condition::reason, as reported by a process: "WRITER_DISK_FULL"
  std::vector<std::string> of;  // names of processes, or kinds; empty: any
  double value = 0;             // run_seconds, no_triggers_s: s; livetime_below, rate_below: 0 to 1
  DurationNs for_ns = 0;
  Act act = Act::warn;
  DurationNs again_ns = 60 * kSecond;  // minimum time between two firings
  std::uint32_t times_max = 0;         // 0: no limit
};

// The rules' view of the farm.
struct RulesView {
  State state = State::idle;
  bool under_way = false;  // a transition in progress
  RunNumber run;
  DurationNs run_ns = 0;  // since the run was started
  // From the supervisor's last report in this run; none before the first.
  struct Livetime {
    TimeNs at_ns = 0;     // on the supervisor's clock
    DurationNs lost = 0;  // since the run began
  };
  std::optional<Livetime> livetime;
  // The run's triggers: see TriggerFlow. None: unknown, or no more triggers are expected.
  struct Flow {
    DurationNs silent_ns = 0;
    std::optional<double> rate;
    std::optional<double> mean_rate;
  };
  std::optional<Flow> flow;
  struct Process {
    std::string name;
    Role role = Role::dcm;
    bool live = false;
    bool removed = false;
    State state = State::idle;
    std::string said;  // Report.state: "blocked: WRITER_DISK_FULL writer-0"
  };
  std::vector<Process> processes;  // those of the plan, always in the same order
};

struct Firing {
  std::size_t rule = 0;  // its index in the rules
  std::vector<std::size_t>
      processes;    // processes that the condition concerns; none for conditions of the run
  std::string why;  // "rule disk: writer-0 says WRITER_DISK_FULL", without a full stop
};

// Run control's actions without an operator. Stores since when each rule's condition holds, and when it fired
// last. Conditions of the run (run_seconds, livetime_below, rate_below, no_triggers_s, reasons) hold only
// during a run without a transition in progress, those of processes only if the farm is not idle; removed
// processes are ignored. After an interruption, and with each new run, a condition starts anew. Pure.
class Rules {
 public:
  explicit Rules(std::vector<Rule> rules);

  // Returns the rules that fire, in order. Requires: times ascend.
  [[nodiscard]] std::vector<Firing> look(const RulesView& view, TimeNs now);
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }

 private:
  struct Track {
    std::optional<TimeNs> since;
    std::optional<TimeNs> fired;
    std::uint32_t times = 0;
    RunNumber run;
  };
  struct Holding {
    std::vector<std::size_t> processes;
    std::string why;
  };
  [[nodiscard]] std::optional<Holding> holds(const Rule& rule, const RulesView& view) const;
  [[nodiscard]] std::optional<Holding> flow_holds(const Rule& rule, const RulesView& view) const;
  [[nodiscard]] std::optional<Holding> processes_hold(const Rule& rule, const RulesView& view) const;
  void measure_livetime(const RulesView& view);

  std::vector<Rule> rules_;
  std::vector<Track> tracks_;
  RunNumber measured_run_;
  std::optional<RulesView::Livetime> measured_;  // for comparison with the next report
  std::optional<double> live_share_;             // between the last two reports
};

}  // namespace weir::control
