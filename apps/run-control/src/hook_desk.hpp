#pragma once

#include "event_log.hpp"
#include <weir/control/health.hpp>
#include <weir/control/hooks.hpp>
#include <weir/hooks/hook_runner.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// The farm's hooks: asks those before a transition, informs those after one, and reports those that fail.
class HookDesk {
 public:
  struct Counts {
    std::uint64_t started = 0;
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;   // other status than 0 after a transition, or no decision before one
    std::uint64_t dropped = 0;  // too many waited
  };

  // `folder`: of the hooks' output. Without hooks nothing is started.
  HookDesk(std::vector<control::Hook> hooks, std::string folder, EventLog& log);

  // Asks the hooks before this transition. False: none exists. `account`: for their input. Requires: none is
  // asked.
  [[nodiscard]] bool ask(control::Command command, const boost::json::object& account);
  [[nodiscard]] std::optional<control::Command> waits() const { return gate_.waits(); }
  // The longest time for which the asked hooks may take.
  [[nodiscard]] DurationNs longest() const { return longest_ns_; }
  [[nodiscard]] std::optional<control::HookGate::Verdict> take_verdict();
  // Gives the transition up, and kills its hooks.
  void give_up();
  // Informs the hooks after a transition.
  void inform(control::HookPoint point, const boost::json::object& account);
  [[nodiscard]] bool has(control::HookPoint point) const;
  // Each turn: takes the results.
  void look();

  // The last refusal, until the next transition is asked for; hooks that failed the last time.
  [[nodiscard]] std::vector<control::Finding> findings() const;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Job {
    std::size_t hook = 0;
    control::HookPoint point = control::HookPoint::before_configure;
    std::string occasion;
  };
  [[nodiscard]] bool start(std::size_t hook, control::HookPoint point, boost::json::object account);
  void note_end(const Job& job, const hooks::HookResult& result);

  std::vector<control::Hook> hooks_;
  EventLog& log_;
  control::HookGate gate_;
  DurationNs longest_ns_ = 0;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Job> jobs_;  // started, without a result
  std::vector<std::uint64_t> asked_;   // of the gate
  std::optional<control::Finding> refused_;
  std::map<std::string, std::string> failed_;  // by hook: how
  Counts counts_;
  std::optional<hooks::HookRunner> runner_;
};

}  // namespace weir::run_control
