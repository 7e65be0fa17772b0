#include "shell.hpp"

#include <weir/config/farm_file.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/run_folder.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/telemetry/log.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <exception>
#include <iterator>
#include <unistd.h>
#include <utility>

namespace weir::node {
namespace {

constexpr DurationNs kRunWait = 5 * kMillisecond;
constexpr DurationNs kIdleWait = 100 * kMillisecond;
constexpr int kFailuresMax = 5;  // failures of the node in one run; more put the process into error
constexpr int kStartAgain = 75;  // exit status (EX_TEMPFAIL): the process must be started again

std::string endpoint_of(const MetricsExport* metrics) {
  if (metrics == nullptr) return {};
  return ports::to_text(metrics->endpoint());
}

// Applies the order's run number and overrides to the farm. Throws std::runtime_error for a bad override.
void take_run(const v1::Order& order, v1::Farm& farm) {
  farm.mutable_run()->set_number(order.run());
  for (const std::string& one : order.sets()) {
    if (const auto problems = config::apply_override(farm, one); !problems.empty())
      throw std::runtime_error(config::to_text(problems));
  }
}

// Folders in which a process of this role keeps data.
std::vector<FolderWatch::Folder> data_folders(Role role, const v1::Farm& farm, FolderWatch::Links run_out) {
  const bool keeps_journal = role == Role::supervisor && farm.supervisor().journal();
  if (role == Role::writer || keeps_journal) return {{"run.out", farm.run().out(), run_out}};
  if (role == Role::dcm && farm.burst().disk_bytes() > 0) return {{"burst.folder", farm.burst().folder()}};
  return {};
}

}  // namespace

Shell::Shell(const CommandLine& line, Role role, const MakeNode& make, bool has_plugins, const Setup& setup,
             const ports::Endpoint& control, MetricsExport* metrics)
    : line_(line),
      role_(role),
      make_(make),
      loop_(socket_policy(setup.farm)),
      bus_(control, bus_keys(setup.farm),
           {setup.farm.farm(), setup.self.name, endpoint_of(metrics), setup.identity.incarnation, line.after},
           [this] { loop_.wake(); }),
      log_file_(setup.farm.run().out() + "/log/" + setup.self.name + ".log",
                setup.farm.log().file_bytes_max(), setup.farm.log().files_kept()),
      metrics_(metrics),
      name_(setup.self.name),
      has_plugins_(has_plugins) {
  telemetry::on_log_line([this](UtcNs utc_ns, const std::string& level, const std::string& text) {
    bus_.log(utc_ns, level, text);
  });
}

Shell::~Shell() { telemetry::on_log_line(nullptr); }

int Shell::run() {
  loop_.on_signals({SIGINT, SIGTERM}, [this](int signal) { on_signal(signal); });
  while (!done_) {
    loop_.run_once(
        [this](TimeNs now_ns) {
          if (!node_) return;
          node_->pass(now_ns);
          loop_.wake_at(node_->wake_at_ns());
        },
        node_ ? kRunWait : kIdleWait);
    turn(loop_.now_ns());
  }
  spdlog::info("process ended reason=\"{}\"", quits_);
  bus_.leave(quits_);
  return exit_status_;
}

void Shell::turn(TimeNs now_ns) {
  log_file_.look(now_ns);
  if (const std::string pause = pauses_.look(); !pause.empty()) spdlog::warn("process {}", pause);
  hand_over_account();
  if (start_order_) look_at_start();
  if (node_ && node_->finished()) node_finished();
  if (node_ && node_->begun() != begun_) {
    begun_ = node_->begun();
    bus_.state_changed();
  }
  follow_node();
  orders_.clear();
  wishes_.clear();
  bus_.receive(orders_, wishes_);
  for (const v1::TapWish& wish : wishes_) {
    if (node_) node_->on_tap(wish);
  }
  take_orders();
  look_at_trial(now_ns);
  if (folders_.look(now_ns)) bus_.state_changed();
  if (bus_.heartbeat_due(now_ns)) {
    look_at_plugins();
    bus_.say(state(Extent::brief), now_ns);
  }
  if (quits_.empty() || node_) return;
  // Run control should still receive the end of the last run.
  if (quit_until_ns_ == 0) quit_until_ns_ = now_ns + kFlushMax;
  done_ = done_ || bus_.all_told() || now_ns >= quit_until_ns_;
}

v1::MemberState Shell::state(Extent extent) const {
  v1::MemberState told;
  told.set_state(std::string(control::name(state_)));
  told.set_run(run_.value);
  told.set_epoch(epoch_);
  told.set_begun(begun_);
  told.set_ended(ended_);
  told.set_draining(node_ && node_->draining());
  told.set_reason(reason_);
  if (role_ == Role::supervisor && node_) told.set_supervisor(listens_at_);
  *told.mutable_identity() = extent == Extent::whole ? identity_ : without_files(identity_);
  if (node_) told.set_out(setup_->farm.run().out());
  for (const control::FolderPlace& one : folders_.places()) {
    v1::FolderPlace& place = *told.add_places();
    place.set_key(one.key);
    place.set_folder(one.folder);
    place.set_mount(one.mount);
    place.set_device(one.device);
    place.set_unmounted(one.unmounted);
  }
  return told;
}

void Shell::watch_folders() {
  if (node_) {
    folders_.set_folders(data_folders(role_, setup_->farm, FolderWatch::Links::resolved));
  } else if (configured_) {
    folders_.set_folders(data_folders(role_, configured_->farm, FolderWatch::Links::to_resolve));
  } else {
    folders_.set_folders({});
  }
}

// A new run uses the plugin files as they are then; a running one keeps those it began with.
void Shell::look_at_plugins() {
  if (!configured_ || node_ || !plugins_.has_changed(*configured_)) return;
  plugins_.note(*configured_);
  identity_ = loadable_parts(*configured_);
}

void Shell::follow_node() {
  if (!node_ || start_order_ || state_ == control::State::error) return;
  set_state(node_->paused() ? control::State::paused : control::State::running);
}

void Shell::set_state(control::State state) {
  if (state == state_) return;
  state_ = state;
  bus_.state_changed();
}

void Shell::answer(std::uint64_t order, const std::string& error, bool wrong_settings) {
  v1::Answer answer;
  answer.set_id(order);
  answer.set_good(error.empty());
  answer.set_error(error);
  answer.set_wrong_settings(wrong_settings);
  *answer.mutable_state() = state(Extent::whole);
  bus_.answer(answer);
}

// ---- orders

// While a node prepares its run, most orders wait, as behind a `start` that takes long.
void Shell::take_orders() {
  std::vector<v1::Order> due = std::exchange(held_orders_, {});
  std::move(orders_.begin(), orders_.end(), std::back_inserter(due));
  for (v1::Order& order : due) {
    if (start_order_ && waits_for_start(order)) {
      held_orders_.push_back(std::move(order));
    } else {
      carry_out(order);
    }
  }
}

// False for orders that end the node, and for those that do not concern it.
bool Shell::waits_for_start(const v1::Order& order) const {
  if (order.command() == name(control::RequestKind::log_level) ||
      order.command() == name(control::RequestKind::restart))
    return false;
  const auto command = control::command_of(order.command());
  if (command == control::Command::start && order.run() == setup_->run.value) return false;
  return command != control::Command::off && command != control::Command::reset;
}

void Shell::carry_out(const v1::Order& order) {
  if (order.has_tell()) {
    if (node_) node_->on_command(order.tell());
    return answer(order.id(), node_ ? "" : "no run is active");
  }
  if (order.command() == name(control::RequestKind::log_level)) {
    return answer(order.id(), telemetry::set_log_level(order.reason())
                                  ? ""
                                  : "'" + order.reason() + "' is not a log level");
  }
  if (order.command() == name(control::RequestKind::restart)) {
    spdlog::warn("process restarting reason=\"{}\"", order.reason());
    answer(order.id(), "");
    exit_status_ = kStartAgain;
    quits_ = "restart";
    drop_node();
    return;
  }
  const auto command = control::command_of(order.command());
  if (!command) return answer(order.id(), "'" + order.command() + "' is not a command");
  // A repeated order: run control was restarted and missed the answer.
  if (*command == control::Command::start && start_order_) {
    start_order_ = order.id();
    return;
  }
  if (*command == control::Command::start && node_ && run_.value == order.run())
    return answer(order.id(), "");
  if (!control::after(state_, *command)) {
    return answer(order.id(), name_ + " is " + std::string(control::name(state_)) + ": " + order.command() +
                                  " is not possible now");
  }
  if (*command == control::Command::start && !quits_.empty())
    return answer(order.id(), name_ + " ends: " + quits_);
  trial_.reset();
  const std::string error = transition(*command, order);
  if (trial_ || start_order_ == order.id()) return;
  if (!error.empty()) report_failed(order.command(), error);
  if (*command == control::Command::stop && error.empty() && node_) {
    stop_order_ = order.id();
    return;
  }
  answer(order.id(), error);
}

void Shell::report_failed(const std::string& command, const std::string& error) {
  reason_ = error;
  bus_.state_changed();
  spdlog::error("cannot carry out command={} reason=\"{}\"", command, error);
  if (line_.one_run || exit_status_ == kAddressInUse) end_with_run(error);
}

std::string Shell::transition(control::Command command, const v1::Order& order) {
  switch (command) {
    case control::Command::init:
      return init();
    case control::Command::configure:
      return configure(order);
    case control::Command::start:
      return start(order);
    case control::Command::pause:
      tell(v1::Command::PAUSE, order.reason());
      follow_node();
      break;
    case control::Command::continue_run:
      tell(v1::Command::CONTINUE, order.reason());
      follow_node();
      break;
    case control::Command::stop:
      tell(v1::Command::STOP, order.reason(), order.limit_ms());
      break;
    case control::Command::reset:
      if (line_.one_run && node_) end_with_run("reset by run control");
      drop_node();
      stop_order_.reset();
      configured_.reset();
      watch_folders();
      epoch_ = 0;
      failures_ = 0;
      reason_.clear();
      set_state(control::State::idle);
      break;
    case control::Command::off:
      quits_ = "off";
      drop_node();
      break;
  }
  return {};
}

// The process read the farm file at its start, but the valid farm comes with `configure`.
std::string Shell::init() {
  reason_.clear();
  set_state(control::State::standby);
  return {};
}

std::string Shell::configure(const v1::Order& order) {
  if (!order.has_farm())
    return "run control sent no farm: it is older than this process; install the same version for both "
           "same";
  std::vector<std::string> keys;
  for (const std::string& one : order.sets()) keys.push_back(key_of(one));
  try {
    Setup setup = make_setup(line_, order.farm(), keys, role_);
    // During a run: other files than the run's are refused as such, whatever they make of its parameters.
    if (has_plugins_ && order.has_identity()) {
      const v1::RunIdentity loadable = loadable_parts(setup);
      for (const auto& part : loadable.parts()) require(order.identity(), part);
    }
    // In a farm for one run, `start` follows at once and makes the instance itself.
    if (has_plugins_ && !line_.one_run && order.limit_ms() > 0) {
      begin_trial(order, std::move(setup));
    } else {
      take_settings(std::move(setup), order.epoch());
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

void Shell::take_settings(Setup setup, std::uint64_t epoch) {
  configured_ = std::move(setup);
  plugins_.note(*configured_);
  identity_ = loadable_parts(*configured_);
  epoch_ = epoch;
  reason_.clear();
  watch_folders();
  set_state(control::State::ready);
  bus_.state_changed();
}

void Shell::begin_trial(const v1::Order& order, Setup setup) {
  std::vector<std::string> arguments{"--farm",        line_.farm_file,
                                     "--name",        line_.name,
                                     "--try-plugins", "--die-with-parent=" + std::to_string(::getpid())};
  for (const std::string& one : order.sets()) arguments.insert(arguments.end(), {"--set", one});
  // Ends before run control's own limit, so that run control receives the reason.
  const DurationNs limit = static_cast<DurationNs>(order.limit_ms()) * kMillisecond / 4 * 3;
  trial_.reset(
      new Trial{{"/proc/self/exe", arguments, order.farm().SerializeAsString(), loop_.now_ns(), limit},
                order.id(),
                order.epoch(),
                std::move(setup)});
}

void Shell::look_at_trial(TimeNs now_ns) {
  if (!trial_) return;
  const std::optional<std::string> result = trial_->child.result(now_ns);
  if (!result) return;
  const std::unique_ptr<Trial> trial = std::move(trial_);
  if (result->empty()) {
    std::string error;
    try {
      take_settings(std::move(trial->setup), trial->epoch);
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    return answer(trial->order, error);
  }
  reason_ = *result;
  bus_.state_changed();
  spdlog::error("cannot carry out command=configure reason=\"{}\"", *result);
  answer(trial->order, *result, true);
}

std::string Shell::start(const v1::Order& order) {
  if (std::exchange(tried_, RunNumber(order.run())) != RunNumber(order.run())) failures_ = 0;
  setup_ = std::make_unique<Setup>(*configured_);
  setup_->run = RunNumber(order.run());
  setup_->claim = order.claim();
  setup_->identity.run = setup_->run;
  setup_->identity.incarnation = make_incarnation();
  setup_->absent.assign(order.absent().begin(), order.absent().end());
  setup_->reports = this;
  setup_->watcher = this;
  setup_->samples = this;
  setup_->one_run = line_.one_run;
  setup_->start_limit_ns = static_cast<DurationNs>(order.limit_ms()) * kMillisecond;
  telemetry::set_log_run(order.run());
  if (metrics_ != nullptr) metrics_->set_run(setup_->run);
  try {
    take_run(order, setup_->farm);
    v1::Farm whole = *configured_->whole_farm;
    take_run(order, whole);
    setup_->run_identity = order.identity();
    *setup_->ran.add_parts() = farm_part(whole);
    require(order.identity(), setup_->ran.parts(0));
    setup_->whole_farm = std::make_shared<const v1::Farm>(std::move(whole));
    resolve_out(*setup_, order.out());
    if (role_ != Role::supervisor) {
      setup_->supervisor = supervisor_for(*setup_, order.supervisor());
    } else if (!order.listen().empty()) {
      setup_->supervisor = parse_endpoint(order.listen());
    }
    node_ = make_(*setup_, loop_);
  } catch (const std::exception& error) {
    // A restarted process may find the address free.
    if (dynamic_cast<const AddressInUse*>(&error) != nullptr) exit_status_ = kAddressInUse;
    setup_.reset();
    telemetry::set_log_run(0);
    return error.what();
  }
  if (node_->is_preparing()) {
    start_order_ = order.id();
  } else {
    enter_run();
  }
  return {};
}

// A node's preparation is a part of `start`: its failure is an error of that order.
void Shell::look_at_start() {
  const std::string error = node_->failure();
  if (error.empty() && node_->is_preparing()) return;
  const std::uint64_t order = *std::exchange(start_order_, {});
  if (error.empty()) {
    enter_run();
  } else {
    drop_node();
    telemetry::set_log_run(0);
    report_failed(std::string(name(control::Command::start)), error);
  }
  answer(order, error);
}

void Shell::enter_run() {
  run_ = setup_->run;
  ended_ = false;
  begun_ = false;
  reason_.clear();
  summary_.reset();
  account_ = Account::none;
  watch_folders();
  set_state(control::State::running);
}

void Shell::tell(v1::Command::Kind kind, const std::string& reason, std::uint64_t limit_ms) {
  if (!node_) return;
  v1::Command command;
  command.set_kind(kind);
  command.set_reason(reason);
  command.set_limit_ms(limit_ms);
  node_->on_command(command);
}

// ---- the end of a run

void Shell::node_finished() {
  const std::string failure = node_->failure();
  const bool supervisor = role_ == Role::supervisor;
  flush();
  drop_node();
  reason_ = failure;
  begun_ = false;
  if (failure.empty() || supervisor) {
    spdlog::info("run over");
    ended_ = true;
    set_state(control::State::ready);
  } else {
    // Returns to the state of a fresh process: run control leads it back while the run continues.
    spdlog::error("node failed reason=\"{}\"", failure);
    run_ = RunNumber();
    epoch_ = 0;
    set_state(++failures_ < kFailuresMax ? control::State::idle : control::State::error);
  }
  if (supervisor && account_ == Account::none) tell_run_over(failure);
  bus_.state_changed();
  if (stop_order_) answer(*std::exchange(stop_order_, {}), "");
  if (line_.one_run) end_with_run(failure);
  telemetry::set_log_run(0);
}

void Shell::tell_run_over(const std::string& failure) {
  v1::RunOver over;
  over.set_run(run_.value);
  over.set_failure(failure);
  if (summary_) *over.mutable_summary() = std::move(*summary_);
  summary_.reset();
  bus_.run_over(std::move(over));
  account_ = Account::told;
}

// In a farm of one run the supervisor keeps its journal until run control has the account, so that a
// restarted supervisor can send it again.
void Shell::hand_over_account() {
  if (!node_ || !line_.one_run) return;
  if (account_ == Account::none && summary_) tell_run_over(node_->failure());
  if (account_ != Account::told || !bus_.all_told()) return;
  account_ = Account::taken;
  tell(v1::Command::SHUTDOWN, {});
}

void Shell::end_with_run(const std::string& failure) {
  quits_ = failure.empty() ? "run over" : failure;
  if (failure.empty()) return;
  if (exit_status_ == 0) exit_status_ = 1;
  spdlog::error("process failed reason=\"{}\"", failure);
}

void Shell::flush() {
  const TimeNs until = loop_.now_ns() + kFlushMax;
  while (loop_.unsent_bytes() > 0 && loop_.now_ns() < until) loop_.run_once([](TimeNs) {}, kMillisecond);
}

void Shell::drop_node() {
  if (node_ && !node_->let_go()) leave_node_behind();
  start_order_.reset();
  node_.reset();
  setup_.reset();
  watch_folders();
  loop_.wake_at(std::numeric_limits<TimeNs>::max());
}

void Shell::leave_node_behind() {
  left_behind_ = true;
  (void)node_.release();
  (void)setup_.release();
  if (!quits_.empty() || line_.one_run) return;
  quits_ = "a filter step did not end";
  exit_status_ = kStartAgain;
  spdlog::error("process restarting reason=\"{}\"", quits_);
}

void Shell::on_summary(const v1::RunSummary& summary) { summary_ = summary; }

void Shell::take(const v1::Report& report) {
  const bus::ClientCounters bus = bus_.counters();
  v1::Report counted;
  const std::pair<std::string_view, std::uint64_t> dropped[] = {{"sent", bus.dropped_messages},
                                                                {"published", bus.dropped_published},
                                                                {"received", bus.dropped_received}};
  for (const auto& [what, count] : dropped) {
    if (count > 0) reports::ReportCounters(counted).of("bus.dropped.", what) = count;
  }
  const bool none = counted.counters().empty();
  if (!none) counted.MergeFrom(report);
  const v1::Report& told = none ? report : counted;
  bus_.take(told);
  if (metrics_ != nullptr) metrics_->take(told);
}

void Shell::on_signal(int signal) {
  const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
  if (!quits_.empty()) done_ = true;  // second signal
  if (quits_.empty()) exit_status_ = status_of_signal(role_, signal);
  quits_ = name;
  if (node_) node_->on_signal(name);
}

}  // namespace weir::node
