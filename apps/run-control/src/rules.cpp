// What run control does without being asked.
#include "core.hpp"
#include <weir/config/rules.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

constexpr DurationNs kLookInterval = kSecond;

bool in_run(const control::Member& member) {
  return member.told.state == control::State::running || member.told.state == control::State::paused;
}

std::string_view word(control::Act act) {
  constexpr std::string_view kWords[] = {
      "", "stop", "pause", "continue", "end the run and start the next", "restart", "reset"};
  return kWords[static_cast<std::size_t>(act)];
}

}  // namespace

// Throws what load() would have said.
void RunControl::Core::read_rules() {
  auto read = config::read_rules(file, plan);
  if (!read) throw std::runtime_error(config::to_text(read.error()));
  rules.emplace(std::move(*read));
}

control::RulesView RunControl::Core::rules_view() const {
  control::RulesView seen;
  seen.state = machine->state();
  seen.under_way = machine->under_way().has_value();
  seen.run = machine->run();
  if (run_begin_utc > 0) seen.run_ns = std::max<DurationNs>(0, utc_now() - run_begin_utc);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const control::Member& member = machine->members()[i];
    const v1::Report& report = processes[i].report;
    control::RulesView::Process one{member.plan.name, member.plan.role,  member.live,
                                    member.excluded,  member.told.state, {}};
    if (in_run(member) && member.told.run == seen.run) {
      one.said = report.state();
      const auto lost = report.counters().find("lost_livetime_ms");
      if (member.plan.role == Role::supervisor && lost != report.counters().end())
        seen.livetime = {report.now_ns(), static_cast<DurationNs>(lost->second) * kMillisecond};
    }
    seen.processes.push_back(std::move(one));
  }
  return seen;
}

void RunControl::Core::look_at_rules() {
  if (!next_by.empty()) start_next();
  if (rules->rules().empty() || now_ns < next_look_ns) return;
  next_look_ns = now_ns + kLookInterval;
  for (const control::Firing& firing : rules->look(rules_view(), now_ns)) fire(firing);
}

void RunControl::Core::fire(const control::Firing& firing) {
  const control::Rule& rule = rules->rules()[firing.rule];
  const std::string_view what = word(rule.act);
  note(control::Level::warning, what.empty() ? firing.why : fmt::format("{}: {}", firing.why, what));
  const std::string error = act(rule, firing);
  if (!error.empty())
    note(control::Level::error, fmt::format("rule {} cannot {}: {}", rule.name, what, error));
}

// The error is a sentence; empty: it is under way.
std::string RunControl::Core::act(const control::Rule& rule, const control::Firing& firing) {
  v1::Request request;
  request.set_reason(firing.why);
  switch (rule.act) {
    case control::Act::warn:
      return {};
    case control::Act::stop:
      return transition(control::Command::stop, request);
    case control::Act::pause:
      return transition(control::Command::pause, request);
    case control::Act::go_on:
      return transition(control::Command::go_on, request);
    case control::Act::start_next: {
      std::string error = transition(control::Command::stop, request);
      if (error.empty()) next_by = rule.name;
      return error;
    }
    case control::Act::restart:
    case control::Act::reset:
      break;
  }
  std::string errors;
  for (const std::size_t member : firing.processes) {
    std::string error;
    if (rule.act == control::Act::reset) {
      if (const auto done = machine->readmit(member, now_ns, actions); !done) error = done.error();
    } else {
      error = tell_restart(member, firing.why);
    }
    if (!error.empty()) errors += (errors.empty() ? "" : "; ") + error;
  }
  return errors;
}

std::string RunControl::Core::tell_restart(std::size_t index, const std::string& why) {
  const control::Member& member = machine->members()[index];
  if (member.plan.role == Role::supervisor)
    return member.plan.name + " is the supervisor: its run would wait for it";
  if (!member.live) return member.plan.name + " is not there";
  v1::Order restart;
  restart.set_command("restart");
  restart.set_reason(why);
  tell(index, std::move(restart));
  return {};
}

// Once the run that a rule has ended is over.
void RunControl::Core::start_next() {
  if (machine->under_way() || machine->remembered().run_open) return;
  const std::string by = std::exchange(next_by, {});
  v1::Request request;
  for (const std::string& one : run_sets) request.add_sets(one);
  std::string error;
  if (machine->state() == control::State::ready) {
    error = transition(control::Command::start, request);
  } else {
    error = fmt::format("the farm is {}", control::name(machine->state()));
  }
  if (error.empty())
    return note(control::Level::info, fmt::format("rule {}: run {} starts", by, machine->run().value));
  note(control::Level::error, fmt::format("rule {} cannot start the next run: {}", by, error));
}

}  // namespace weir::run_control
