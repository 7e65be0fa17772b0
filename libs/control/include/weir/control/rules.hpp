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
enum class Act : std::uint8_t { warn, stop, pause, go_on, start_next, restart, reset };

struct Rule {
  std::string name;
  Condition when = Condition::reason;
  std::string reason;           // that a process says, of Condition::reason: "WRITER_DISK_FULL"
  std::vector<std::string> of;  // names of processes, or kinds; empty: any
  double value = 0;             // run_seconds, no_triggers_s: s; livetime_below, rate_below: 0 to 1
  DurationNs for_ns = 0;
  Act act = Act::warn;
  DurationNs again_ns = 60 * kSecond;  // no second time before
  std::uint32_t times_max = 0;         // 0: no limit
};

// The farm as rules see it.
struct RulesView {
  State state = State::idle;
  bool under_way = false;  // a transition
  RunNumber run;
  DurationNs run_ns = 0;  // since it was started
  // Of the supervisor's last report in this run; nothing: none yet.
  struct Livetime {
    TimeNs at_ns = 0;     // on the supervisor's clock
    DurationNs lost = 0;  // since the run began
  };
  std::optional<Livetime> livetime;
  // Of the run's triggers: see TriggerFlow. Nothing: not known, or none are expected any more.
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
    bool excluded = false;
    State state = State::idle;
    std::string said;  // Report.state: "blocked: WRITER_DISK_FULL writer-0"
  };
  std::vector<Process> processes;  // those of the plan, always in the same order
};

struct Firing {
  std::size_t rule = 0;                // its place among the rules
  std::vector<std::size_t> processes;  // that the condition is about; the run's conditions are about none
  std::string why;                     // "rule disk: writer-0 says WRITER_DISK_FULL", without a full stop
};

// What run control does without an operator: of each rule since when its condition holds, and when it fired
// last. Conditions of the run (run_seconds, livetime_below, rate_below, no_triggers_s, reasons) hold only
// while one is on and no transition is under way, those of processes only where the farm is not idle; rules
// do not look at removed processes. After a break, and with each new run, a condition begins to hold anew.
// Pure.
class Rules {
 public:
  explicit Rules(std::vector<Rule> rules);

  // In the rules' order. Times ascend.
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
  std::optional<RulesView::Livetime> measured_;  // what the next report is compared with
  std::optional<double> live_share_;             // between the last two reports
};

}  // namespace weir::control
