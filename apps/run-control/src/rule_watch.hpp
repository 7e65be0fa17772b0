#pragma once

#include "event_log.hpp"
#include "members.hpp"
#include <weir/control/farm_machine.hpp>
#include <weir/control/rules.hpp>
#include <weir/run_record/run_fields.hpp>
#include <weir/v1/bus.pb.h>

#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// Actions of rules. Errors are messages; empty: in progress.
class RuleActions {
 public:
  virtual ~RuleActions() = default;
  [[nodiscard]] virtual std::string transition(control::Command command, const v1::Request& request) = 0;
  [[nodiscard]] virtual std::string readmit(std::size_t member) = 0;
  [[nodiscard]] virtual std::string restart(std::size_t member, const std::string& why) = 0;
  [[nodiscard]] virtual RunNumber run() const = 0;  // that was started last
};

// The farm as rules see it. `begin_utc`: of the run, 0 without one.
[[nodiscard]] control::RulesView rules_view(const control::FarmMachine& machine, const Members& members,
                                            UtcNs begin_utc, UtcNs now_utc,
                                            std::optional<control::RulesView::Flow> flow);

// The rules in force, and their pending actions, even after the end of a run that a rule has ended.
class RuleWatch {
 public:
  static constexpr DurationNs kInterval = kSecond;

  RuleWatch(std::vector<control::Rule> rules, EventLog& log, RuleActions& deeds)
      : rules_(std::move(rules)), log_(log), actions_(deeds) {}

  // Whether look() is due.
  [[nodiscard]] bool is_due(TimeNs now) const { return !rules_.rules().empty() && now >= next_look_ns_; }
  void look(const control::RulesView& view, TimeNs now);
  [[nodiscard]] const std::vector<control::Rule>& rules() const { return rules_.rules(); }
  // A rule has ended a run to start the next, and that is over: starts it with these keys and fields.
  [[nodiscard]] bool wants_next() const { return !next_by_.empty(); }
  void start_next(control::State state, const std::vector<std::string>& run_sets,
                  const run_record::RunFields& fields);
  // A command from outside replaces a rule's next action.
  void commanded() { next_by_.clear(); }
  // The rule that ended the run and starts the next one; empty: none.
  [[nodiscard]] const std::string& next_by() const { return next_by_; }
  void recall(const std::string& next_by) { next_by_ = next_by; }

 private:
  void fire(const control::Firing& firing);
  [[nodiscard]] std::string act(const control::Rule& rule, const control::Firing& firing);

  control::Rules rules_;
  EventLog& log_;
  RuleActions& actions_;
  std::string next_by_;
  TimeNs next_look_ns_ = 0;
};

}  // namespace weir::run_control
