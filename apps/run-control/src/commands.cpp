#include "commands.hpp"

#include "disks.hpp"
#include "hook_account.hpp"
#include "signals.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/node/identity.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/json.hpp>
#include <weir/telemetry/log.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir::run_control {

namespace {

constexpr std::size_t kTextMax = 2000;

// A request's texts go into logs, records, and the terminals and pages of other clients.
v1::Request cleaned(v1::Request request) {
  for (std::string* text : {request.mutable_command(), request.mutable_reason(), request.mutable_level(),
                            request.mutable_signal(), request.mutable_by()})
    *text = clean_text(*text, kTextMax);
  for (std::string& node : *request.mutable_nodes()) node = clean_text(node, kTextMax);
  return request;
}

}  // namespace

std::string Commands::carry_out(const v1::Request& given) {
  const v1::Request request = cleaned(given);
  for (const std::string& one : request.sets()) {
    if (clean_text(one, one.size() + 1) != one)
      return "'" + clean_text(one, kTextMax) +
             "' has characters that a farm file cannot have: control characters, or invalid UTF-8";
  }
  const auto command = control::command_of(request.command());
  if (command == control::Command::start) {
    if (std::string why = refused_fields(request); !why.empty()) return why;
  }
  if (command) return transition(*command, request);
  using control::RequestKind;
  const auto other = control::request_of(request.command());
  if (other == RequestKind::set) return set(request);
  if (other == RequestKind::unset) return unset(request);
  if (other == RequestKind::add) return change_farm(request, false);
  if (other == RequestKind::remove) return change_farm(request, true);
  if (other == RequestKind::log_level) return log_level(request);
  if (other == RequestKind::burst) return burst(request);
  if (other == RequestKind::kill) return send_signals(request, parts_);
  if (other == RequestKind::annotate) return annotate(request);
  if (other == RequestKind::restart) return restart(request);
  if (other == RequestKind::try_settings) return try_settings(request);
  if (other == RequestKind::form) return form();
  if (other == RequestKind::switches) return read_switches(request);
  return "'" + request.command() +
         "' is not a command: use init, configure, start, pause, continue, stop, reset, off, status, "
         "add, remove, restart, set, unset, log-level, switches, tap, kill, burst, annotate";
}

std::string Commands::transition(control::Command command, const v1::Request& request) {
  const auto waits = parts_.hooks == nullptr ? std::nullopt : parts_.hooks->waits();
  if (given_up_ && control::point_before(command))
    return fmt::format("{} is not possible now: another command is being given up; try again",
                       control::name(command));
  if (waits && control::point_before(command)) {
    return fmt::format("{} is not possible now: {} waits for its hooks; `reset` gives it up",
                       control::name(command), control::name(*waits));
  }
  if (waits) {
    parts_.hooks->give_up();
    given_up_ = Answered{fmt::format("{} was given up: {} was commanded while its hooks were asked",
                                     control::name(*waits), control::name(command))};
    parts_.log.note(control::Level::warning, given_up_->error);
  }
  if (asks_hooks(command, request)) return {};
  return proceed(command, request);
}

bool Commands::asks_hooks(control::Command command, const v1::Request& request) {
  const bool possible =
      !parts_.machine.under_way() && control::after(parts_.machine.state(), command).has_value();
  if (!possible || parts_.hooks == nullptr || !control::point_before(command)) return false;
  if (!parts_.hooks->ask(command, account_before(parts_, request))) return false;
  asked_ = request;
  return true;
}

std::optional<Commands::Answered> Commands::look_at_hooks() {
  if (parts_.hooks == nullptr) return std::nullopt;
  parts_.hooks->look();
  if (given_up_) return std::exchange(given_up_, std::nullopt);
  const auto verdict = parts_.hooks->take_verdict();
  if (!verdict) return std::nullopt;
  const std::string what(control::name(verdict->command));
  if (!verdict->refusal.empty()) return Answered{what + " refused by " + verdict->refusal};
  Answered answered{proceed(verdict->command, asked_)};
  if (!answered.error.empty()) parts_.log.error(what + ": " + answered.error);
  return answered;
}

std::string Commands::proceed(control::Command command, const v1::Request& request) {
  if (command == control::Command::start) return start(request);
  if (command == control::Command::configure) return configure(request);
  const auto done = parts_.machine.command(command, RunNumber(request.run()), request.reason(), parts_.now_ns,
                                           parts_.actions);
  if (!done) return done.error();
  if (command == control::Command::off) parts_.setup.forget();
  if (command == control::Command::pause) parts_.book.note_operation("paused");
  if (command == control::Command::continue_run) parts_.book.note_operation("continued");
  return {};
}

std::string Commands::configure(const v1::Request& request) {
  auto configuration = parts_.setup.prepare({request.sets().begin(), request.sets().end()});
  if (!configuration) return configuration.error();
  const auto done = parts_.machine.command(control::Command::configure, RunNumber(), request.reason(),
                                           parts_.now_ns, parts_.actions);
  if (!done) return done.error();
  parts_.setup.configure(std::move(*configuration));
  return {};
}

// The run's parts, as the processes report that are to take part in it. The error is a sentence.
Expected<v1::RunIdentity, std::string> Commands::identity() const {
  v1::RunIdentity all;
  std::vector<std::string> owners;  // by part: the process that first reported it
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    const control::Member& member = parts_.machine.members()[i];
    const bool takes_part = member.live && !member.inactive && !member.removed;
    if (!takes_part || member.told.epoch != parts_.machine.epoch()) continue;
    if (const auto conflict = node::merge(parts_.members[i].identity, all)) {
      const v1::RunIdentity::Part& known = all.parts(conflict->known);
      return Unexpected<std::string>(
          fmt::format("{} of {} has checksum {:08x}, and {} has {:08x} ({}): install the same file on both, "
                      "and configure again",
                      node::text_of(conflict->part), member.plan.name, conflict->part.crc32c(),
                      owners[static_cast<std::size_t>(conflict->known)], known.crc32c(), known.path()));
    }
    owners.resize(static_cast<std::size_t>(all.parts_size()), member.plan.name);
  }
  return all;
}

// Without the disk a run fills the file system below its mount point. `weir run` has no memory of earlier
// runs.
std::string Commands::missing_disk(const v1::Request& request) const {
  if (request.accept_disks() || parts_.book.keeper() == RunBook::Keeper::starter) return {};
  const auto missing = missing_disks(parts_);
  return missing.empty() ? "" : control::sentence(missing, control::kAcceptDisks);
}

std::string Commands::refused_fields(const v1::Request& request) const {
  const v1::ControlSettings& settings = parts_.setup.configured().control();
  const run_record::RunFields fields{request.fields().begin(), request.fields().end()};
  std::string why =
      run_record::check_fields(fields, {settings.run_types().begin(), settings.run_types().end()});
  // `weir run` starts its one run by itself.
  if (!why.empty() || parts_.book.keeper() == RunBook::Keeper::starter) return why;
  return run_record::missing_fields(fields,
                                    {settings.required_fields().begin(), settings.required_fields().end()});
}

std::string Commands::annotate(const v1::Request& request) {
  const v1::ControlSettings& settings = parts_.setup.configured().control();
  const run_record::Annotation annotation{
      request.run(), utc_now_ns(), request.by(), {request.fields().begin(), request.fields().end()}};
  std::string why =
      parts_.book.annotate(annotation, {settings.run_types().begin(), settings.run_types().end()});
  if (why.empty())
    parts_.log.note(control::Level::info, fmt::format("run {} annotated{}", request.run(),
                                                      request.by().empty() ? "" : " by " + request.by()));
  return why;
}

std::string Commands::start(const v1::Request& request) {
  FarmSetup::Sets sets(request.sets().begin(), request.sets().end());
  if (std::string error = parts_.setup.check_run_sets(sets); !error.empty()) return error;
  auto made_of = identity();
  if (!made_of) return made_of.error();
  if (std::string missing = missing_disk(request); !missing.empty()) return missing;
  const auto& farm = parts_.setup.configured();
  const auto run = parts_.book.claim(RunNumber(request.run()), parts_.machine.run(), farm.farm(),
                                     RunNumber(farm.run().number()));
  if (!run) return run.error();
  const auto done =
      parts_.machine.command(control::Command::start, *run, request.reason(), parts_.now_ns, parts_.actions);
  if (!done) {
    parts_.book.give_up(*run);
    return done.error();
  }
  telemetry::set_log_run(run->value);
  parts_.setup.start(std::move(sets));
  note_disks(parts_, *run);
  parts_.members.forget_reports();
  const config::PlannedFarm of_run = parts_.setup.of_run(*run);
  *made_of->add_parts() = node::farm_part(of_run.farm);
  const std::string failure =
      parts_.book.begin(*run, of_run, std::move(*made_of),
                        run_record::cleaned({request.fields().begin(), request.fields().end()}));
  if (!failure.empty()) parts_.log.error(failure);
  return {};
}

std::string Commands::set(const v1::Request& request) {
  if (request.sets_size() == 0) return "set takes key=value";
  std::string error = parts_.setup.set({request.sets().begin(), request.sets().end()});
  if (error.empty()) note_keys("set", request);
  return error;
}

// Tables change in a run, too: the switches keep the frames of their rings.
std::string Commands::read_switches(const v1::Request& request) {
  const auto changed = parts_.setup.read_switches();
  if (!changed) return changed.error();
  for (const std::string& one : *changed) {
    parts_.log.note(control::Level::info, fmt::format("switch {} has a new table{}", one,
                                                      request.by().empty() ? "" : " by " + request.by()));
    parts_.book.note_operation("table of switch " + one);
  }
  return {};
}

std::string Commands::unset(const v1::Request& request) {
  if (request.sets_size() == 0 && !request.all()) return "unset takes keys, or --all";
  std::string error = parts_.setup.unset({request.sets().begin(), request.sets().end()}, request.all());
  if (error.empty()) note_keys("unset", request);
  return error;
}

void Commands::note_keys(const char* what, const v1::Request& request) const {
  std::string keys;
  for (const std::string& one : request.sets()) keys += (keys.empty() ? "" : ", ") + one;
  parts_.log.note(control::Level::info, fmt::format("{} {}{}", keys.empty() ? "every key" : keys, what,
                                                    request.by().empty() ? "" : " by " + request.by()));
}

// Keeps the changes that `configure` would make with these keys; nothing is set.
std::string Commands::try_settings(const v1::Request& request) {
  auto configuration = parts_.setup.prepare({request.sets().begin(), request.sets().end()});
  if (!configuration) return configuration.error();
  tried_ = parts_.setup.difference(*configuration);
  return {};
}

std::string Commands::form() {
  const auto keys = parts_.setup.form();
  if (!keys) return keys.error();
  boost::json::array list;
  for (const FarmSetup::FormKey& one : *keys) {
    boost::json::object key{{"key", one.key},
                            {"type", one.type},
                            {"meaning", one.meaning},
                            {"default", one.default_value},
                            {"value", clean_text(one.value, kTextMax)},
                            {"in_force", clean_text(one.in_force, kTextMax)},
                            {"origin", clean_text(one.where, kTextMax)}};
    if (!one.words.empty()) key["words"] = boost::json::array(one.words.begin(), one.words.end());
    list.push_back(std::move(key));
  }
  tried_ = run_record::one_line(list);
  return {};
}

std::string Commands::restart(const v1::Request& request) {
  const auto members = named(request);
  if (!members) return members.error();
  if (members->empty()) return "restart takes the names of processes";
  for (const std::size_t member : *members) {
    std::string why =
        restart(member, "restarted by " + (request.by().empty() ? "an operator" : request.by()));
    if (!why.empty()) return why;
    parts_.book.note_operation(parts_.machine.members()[member].plan.name + " restarted" +
                               (request.by().empty() ? "" : " by " + request.by()));
  }
  return {};
}

Expected<std::vector<std::size_t>, std::string> Commands::named(const v1::Request& request) const {
  std::vector<std::size_t> members;
  for (const std::string& name : request.nodes()) {
    const auto member = parts_.machine.find(name);
    if (!member) return Unexpected<std::string>("the farm has no process '" + name + "'");
    members.push_back(*member);
  }
  return members;
}

// A run without any DCM of a group continues without progress.
std::string Commands::last_of_its_kind(const std::vector<std::size_t>& away) const {
  const auto& all = parts_.machine.members();
  for (const std::size_t member : away) {
    const auto kind_of = [&](std::size_t one) {
      return parts_.setup.kind_of(all[one].plan.name, all[one].plan.role);
    };
    const std::string kind = kind_of(member);
    bool others = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool goes = std::find(away.begin(), away.end(), i) != away.end();
      const bool alike = kind_of(i) == kind;
      others = others || (alike && all[i].live && !all[i].removed && !goes);
    }
    WEIR_ASSERT(member < all.size());
    if (others || all[member].removed) continue;
    const std::string& process = all[member].plan.name;
    return "without " + process + " no slice can pass: no other " + kind + " takes part; to remove " +
           process + " all the same, add `--last`";
  }
  return {};
}

std::string Commands::change_farm(const v1::Request& request, bool away) {
  const auto members = named(request);
  if (!members) return members.error();
  if (members->empty()) return request.command() + " takes the names of processes";
  for (const std::size_t member : *members) {
    if (const auto possible = parts_.machine.can_remove(member, away); !possible) return possible.error();
  }
  if (away && !request.last()) {
    if (std::string last = last_of_its_kind(*members); !last.empty()) return last;
  }
  v1::Command command;
  command.set_kind(away ? v1::Command::DRAIN : v1::Command::ADD);
  for (const std::size_t member : *members) {
    const auto done = parts_.machine.set_removed(member, away, parts_.now_ns, parts_.actions, request.by());
    WEIR_ASSERT(done.has_value());
    const std::string& name = parts_.machine.members()[member].plan.name;
    command.add_nodes(name);
    parts_.book.note_operation(name + (away ? " removed" : " added") +
                               (request.by().empty() ? "" : " by " + request.by()));
  }
  parts_.orders.tell_supervisor(command);
  return {};
}

std::string Commands::burst(const v1::Request& request) {
  if (parts_.setup.configured().burst().buffer_bytes() == 0)
    return "burst.buffer_bytes is 0: this farm stores no data for alerts";
  const control::State state = parts_.machine.state();
  if (state != control::State::running && state != control::State::paused) return "no run is active";
  constexpr double kWindowMax = 86400.0 * 10;
  const auto is_good = [](double seconds) {
    return std::isfinite(seconds) && std::abs(seconds) <= kWindowMax;
  };
  if (!is_good(request.before_s()) || !is_good(request.after_s()))
    return "a burst window has at most ten days";
  v1::Command command;
  command.set_kind(v1::Command::BURST);
  command.set_before_ms(std::llround(request.before_s() * 1e3));
  command.set_after_ms(std::llround(request.after_s() * 1e3));
  command.set_reason(request.reason());
  if (command.before_ms() + command.after_ms() < 0) return "the window ends before it begins";
  parts_.book.note_operation("burst alert");
  parts_.orders.tell_supervisor(command);
  return {};
}

std::string Commands::log_level(const v1::Request& request) {
  if (!telemetry::is_log_level(request.level()))
    return "'" + request.level() + "' is not a log level: use trace, debug, info, warning, error";
  auto members = named(request);
  if (!members) return members.error();
  if (members->empty()) {
    for (std::size_t i = 0; i < parts_.members.size(); ++i) members->push_back(i);
  }
  for (const std::size_t member : *members) {
    v1::Order order;
    order.set_command(std::string(name(control::RequestKind::log_level)));
    order.set_reason(request.level());
    if (parts_.machine.members()[member].live) parts_.orders.tell(member, std::move(order));
  }
  return {};
}

std::string Commands::readmit(std::size_t member) {
  const auto done = parts_.machine.readmit(member, parts_.now_ns, parts_.actions);
  return done ? std::string() : done.error();
}

std::string Commands::restart(std::size_t index, const std::string& why) {
  const control::Member& member = parts_.machine.members()[index];
  if (member.plan.role == Role::supervisor)
    return member.plan.name + " is the supervisor: its run would wait for it";
  if (!member.live) return member.plan.name + " is not there";
  v1::Order restart;
  restart.set_command(std::string(name(control::RequestKind::restart)));
  restart.set_reason(why);
  parts_.orders.tell(index, std::move(restart));
  return {};
}

}  // namespace weir::run_control
