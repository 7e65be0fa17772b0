// What operators ask for.
#include "core.hpp"
#include <weir/node/run_claim.hpp>
#include <weir/node/setup.hpp>
#include <weir/run/records.hpp>
#include <weir/telemetry/log.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace weir::run_control {

v1::Reply RunControl::Core::request(const v1::Request& request, security::BusRole role) {
  v1::Reply reply;
  reply.set_id(request.id());
  if (request.command() == "status") {
    reply.set_good(true);
    *reply.mutable_view() = view();
    return reply;
  }
  if (request.command() == "tap") {
    reply.set_error(tap(request.tap(), *reply.mutable_tap()));
    reply.set_good(reply.error().empty());
    return reply;
  }
  const std::string error = role == security::BusRole::operator_
                                ? carry_out(request)
                                : "this key may look and not command: use an operator's";
  reply.set_good(error.empty());
  reply.set_error(error);
  return reply;
}

std::string RunControl::Core::carry_out(const v1::Request& request) {
  if (const auto command = control::command_of(request.command())) {
    std::string error = transition(*command, request);
    if (error.empty()) next_by.clear();  // whoever commands, commands what comes next, too
    return error;
  }
  if (request.command() == "set") return set(request);
  if (request.command() == "add") return change_farm(request, false);
  if (request.command() == "remove") return change_farm(request, true);
  if (request.command() == "log-level") return log_level(request);
  if (request.command() == "kill") return send_signals(request);
  return "'" + request.command() +
         "' is not a command: there are init, configure, start, pause, continue, stop, reset, off, status, "
         "add, remove, "
         "set, log-level, tap, kill";
}

// What `start` may say of its run without a new `configure`.
std::string RunControl::Core::check_run_sets(const std::vector<std::string>& wanted) const {
  v1::Farm trial = farm;
  for (const std::string& one : wanted) {
    const std::string key = one.substr(0, one.find('='));
    if (key != "run.slices" && key != "run.duration_s") {
      return key + ": start takes run.slices and run.duration_s; everything else is set with `configure`";
    }
    if (const auto problems = config::apply_override(trial, one); !problems.empty())
      return config::to_text(problems);
  }
  return {};
}

std::string RunControl::Core::transition(control::Command command, const v1::Request& request) {
  RunNumber run(request.run());
  const std::uint64_t claim = node::make_incarnation().value;
  if (command == control::Command::configure) {
    if (request.sets_size() > 0) {
      if (const std::string error = set(request); !error.empty()) return error;
    }
    digest = node::farm_digest(settings.farm_file);
    if (const std::string error = load(sets); !error.empty()) return error;
  }
  const std::vector<std::string> for_run(request.sets().begin(), request.sets().end());
  if (command == control::Command::start) {
    if (const std::string error = check_run_sets(for_run); !error.empty()) return error;
    if (settings.one_run) {
      if (run.value == 0 || machine->run().value != 0)
        return "this farm makes one run: `weir up` keeps one for many";
    } else if (run.value == 0) {
      const RunNumber last(std::max(machine->run().value, history->highest()));
      if (last.value == std::numeric_limits<std::uint32_t>::max())
        return "control.out: " + run::no_run_number_left(out);
      const RunNumber from = std::max(last.next(), RunNumber(farm.run().number()));
      const auto claimed = run::claim_free_run(out, from, farm.farm(), claim);
      if (!claimed) return "control.out: " + claimed.error();
      run = *claimed;
    } else {
      const bool is_free = run::free_run_number(run, run::file_names_in(out)) == run;
      const auto claimed = is_free ? node::claim_run(out, run, farm.farm(), claim) : false;
      if (!claimed) return "control.out: " + claimed.error();
      if (!*claimed)
        return fmt::format("{} holds files of run {} already: take another number", out, run.value);
    }
  }
  const auto done = machine->command(command, run, request.reason(), now_ns, actions);
  if (!done) {
    if (command == control::Command::start && !settings.one_run) node::give_up_claim(out, run, claim);
    return done.error();
  }
  if (command == control::Command::off && settings.going_off) settings.going_off();
  if (command == control::Command::start) {
    telemetry::set_log_run(run.value);
    logged_run = run.value;
    run_begin_utc = utc_now();
    run_sets = for_run;
    for (Process& process : processes) process.report.Clear();  // of the run before
    if (settings.one_run) return {};
    if (const std::string error = begin_record(run); !error.empty()) note(control::Level::error, error);
  }
  return {};
}

std::string RunControl::Core::begin_record(RunNumber run) {
  v1::Farm of_run = farm;
  of_run.mutable_run()->set_number(run.value);
  for (const std::string& one : run_sets) (void)config::apply_override(of_run, one);  // checked
  const run::RecordPaths paths = run::record_paths(out, run);
  const bool written = run::write_begin_records(paths, "Every key of this run.", of_run, plan, utc_now());
  return written ? std::string() : fmt::format("cannot write into '{}': {}", out, std::strerror(errno));
}

// Takes effect with the next `configure`.
std::string RunControl::Core::set(const v1::Request& request) {
  if (request.sets_size() == 0) return "set takes key=value";
  std::vector<std::string> wanted = sets;
  for (const std::string& one : request.sets()) {
    const std::string key = one.substr(0, one.find('='));
    if (key.starts_with("control.") || key == "farm") return key + " cannot be set while the farm is there";
    std::erase_if(wanted, [&](const std::string& old) { return old.substr(0, old.find('=')) == key; });
    wanted.push_back(one);
  }
  const v1::Farm before = farm;
  const config::FarmPlan planned = plan;
  if (const std::string error = load(wanted); !error.empty()) return error;
  const bool same =
      std::equal(plan.nodes.begin(), plan.nodes.end(), planned.nodes.begin(), planned.nodes.end(),
                 [](const auto& a, const auto& b) { return a.name == b.name && a.masked == b.masked; });
  if (!same) {
    farm = before;
    plan = planned;
    return "the farm would have other processes with that: change the farm file, and start run control anew";
  }
  sets = std::move(wanted);
  return {};
}

std::string RunControl::Core::change_farm(const v1::Request& request, bool away) {
  std::vector<std::size_t> members;
  for (const std::string& name : request.nodes()) {
    const auto member = machine->find(name);
    if (!member) return "the farm has no process '" + name + "'";
    members.push_back(*member);
  }
  if (members.empty()) return request.command() + " takes the names of processes";
  v1::Command command;
  command.set_kind(away ? v1::Command::DRAIN : v1::Command::ADD);
  for (const std::size_t member : members) {
    const auto done = machine->exclude(member, away, now_ns, actions);
    if (!done) return done.error();
    command.add_nodes(machine->members()[member].plan.name);
  }
  tell_supervisor(command);
  return {};
}

// A supervisor that was started again in its run takes back everyone who is there.
void RunControl::Core::tell_who_is_out() {
  v1::Command command;
  command.set_kind(v1::Command::DRAIN);
  for (const control::Member& member : machine->members()) {
    if (member.excluded && member.live) command.add_nodes(member.plan.name);
  }
  if (command.nodes_size() > 0) tell_supervisor(command);
}

void RunControl::Core::tell(std::size_t index, v1::Order order) {
  v1::BusMessage message;
  order.set_id(kTellIds + ++tells);
  *message.mutable_order() = std::move(order);
  hub->send(processes[index].client, message);
}

void RunControl::Core::tell_supervisor(const v1::Command& command) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const control::Member& member = machine->members()[i];
    if (member.plan.role != Role::supervisor || !member.live || !member.told.in_run()) continue;
    v1::Order order;
    *order.mutable_tell() = command;
    tell(i, std::move(order));
  }
}

std::string RunControl::Core::log_level(const v1::Request& request) {
  std::vector<std::size_t> members;
  for (const std::string& name : request.nodes()) {
    const auto member = machine->find(name);
    if (!member) return "the farm has no process '" + name + "'";
    members.push_back(*member);
  }
  for (std::size_t i = 0; members.empty() && i < processes.size(); ++i) members.push_back(i);
  for (const std::size_t member : members) {
    v1::Order order;
    order.set_command("log-level");
    order.set_reason(request.level());
    if (machine->members()[member].live) tell(member, std::move(order));
  }
  return {};
}

}  // namespace weir::run_control
