#include "rule_watch.hpp"

#include <weir/base/assert.hpp>
#include <weir/reports/numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::run_control {
namespace {

std::string_view word(control::Act act) {
  constexpr std::string_view kWords[] = {
      "", "stop", "pause", "continue", "end the run and start the next", "restart", "reset"};
  return kWords[static_cast<std::size_t>(act)];
}

}  // namespace

control::RulesView rules_view(const control::FarmMachine& machine, const Members& members, UtcNs begin_utc,
                              UtcNs now_utc, std::optional<control::RulesView::Flow> flow) {
  control::RulesView seen;
  seen.flow = flow;
  seen.state = machine.state();
  seen.under_way = machine.under_way().has_value();
  seen.run = machine.run();
  if (begin_utc > 0) seen.run_ns = std::max<DurationNs>(0, now_utc - begin_utc);
  WEIR_ASSERT(machine.members().size() == members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const control::Member& member = machine.members()[i];
    const v1::Report& report = members[i].report;
    control::RulesView::Process one{member.plan.name, member.plan.role,  member.live,
                                    member.removed,   member.told.state, {}};
    if (member.told.in_run() && member.told.run == seen.run) {
      one.said = report.state();
      if (report.role() == v1::ROLE_SUPERVISOR) {
        const std::uint64_t lost_ms = reports::counter_of(report, "lost_livetime_ms");
        seen.livetime = {report.now_ns(), static_cast<DurationNs>(lost_ms) * kMillisecond};
      }
    }
    seen.processes.push_back(std::move(one));
  }
  return seen;
}

void RuleWatch::look(const control::RulesView& view, TimeNs now) {
  next_look_ns_ = now + kInterval;
  for (const control::Firing& firing : rules_.look(view, now)) fire(firing);
}

void RuleWatch::fire(const control::Firing& firing) {
  const control::Rule& rule = rules_.rules()[firing.rule];
  const std::string_view what = word(rule.act);
  log_.note(control::Level::warning, what.empty() ? firing.why : fmt::format("{}: {}", firing.why, what));
  const std::string error = act(rule, firing);
  if (!error.empty()) log_.error(fmt::format("rule {} cannot {}: {}", rule.name, what, error));
}

std::string RuleWatch::act(const control::Rule& rule, const control::Firing& firing) {
  v1::Request request;
  request.set_reason(firing.why);
  switch (rule.act) {
    case control::Act::warn:
      return {};
    case control::Act::stop:
      return actions_.transition(control::Command::stop, request);
    case control::Act::pause:
      return actions_.transition(control::Command::pause, request);
    case control::Act::continue_run:
      return actions_.transition(control::Command::continue_run, request);
    case control::Act::start_next: {
      std::string error = actions_.transition(control::Command::stop, request);
      if (error.empty()) next_by_ = rule.name;
      return error;
    }
    case control::Act::restart:
    case control::Act::reset:
      break;
  }
  std::string errors;
  for (const std::size_t member : firing.processes) {
    const std::string error =
        rule.act == control::Act::reset ? actions_.readmit(member) : actions_.restart(member, firing.why);
    if (!error.empty()) errors += (errors.empty() ? "" : "; ") + error;
  }
  return errors;
}

void RuleWatch::start_next(control::State state, const std::vector<std::string>& run_sets,
                           const run_record::RunFields& fields) {
  const std::string by = std::exchange(next_by_, {});
  v1::Request request;
  for (const std::string& one : run_sets) request.add_sets(one);
  request.mutable_fields()->insert(fields.begin(), fields.end());
  const std::string error = state == control::State::ready
                                ? actions_.transition(control::Command::start, request)
                                : fmt::format("the farm is {}", control::name(state));
  if (error.empty()) return log_.note(control::Level::info, fmt::format("rule {}: the next run starts", by));
  log_.error(fmt::format("rule {} cannot start the next run: {}", by, error));
}

}  // namespace weir::run_control
