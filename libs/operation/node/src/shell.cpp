#include "shell.hpp"

#include "order_rules.hpp"
#include "run_setup.hpp"
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
constexpr int kStartAgain = 75;  // exit status (EX_TEMPFAIL): the process must be started again

std::string endpoint_of(const MetricsExport* metrics) {
  if (metrics == nullptr) return {};
  return ports::to_text(metrics->endpoint());
}

}  // namespace

Shell::Shell(const CommandLine& line, Role role, const MakeNode& make, bool has_plugins, const Setup& setup,
             const ports::Endpoint& control, MetricsExport* metrics)
    : line_(line),
      role_(role),
      loop_(socket_policy(setup)),
      bus_(control, bus_keys(setup.farm),
           {setup.farm.farm(), setup.self.name, endpoint_of(metrics), setup.identity.incarnation, line.after},
           [this] { loop_.wake(); }),
      log_file_(setup.farm.run().out() + "/log/" + setup.self.name + ".log",
                setup.farm.log().file_bytes_max(), setup.farm.log().files_kept()),
      metrics_(metrics),
      name_(setup.self.name),
      configuration_(line_, role, has_plugins),
      node_(make, loop_) {
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
  spaces_.look(folders_.places(), now_ns);
  if (bus_.heartbeat_due(now_ns)) {
    if (!node_) configuration_.look_at_plugins();
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
  told.set_epoch(configuration_.epoch());
  told.set_begun(begun_);
  told.set_ended(ended_);
  told.set_draining(node_ && node_->draining());
  told.set_reason(reason_);
  if (role_ == Role::supervisor && node_) told.set_supervisor(listens_at_);
  *told.mutable_identity() =
      extent == Extent::whole ? configuration_.identity() : without_files(configuration_.identity());
  if (node_) told.set_out(node_.setup().farm.run().out());
  for (const control::FolderPlace& one : folders_.places()) {
    v1::FolderPlace& place = *told.add_places();
    place.set_key(one.key);
    place.set_folder(one.folder);
    place.set_mount(one.mount);
    place.set_device(one.device);
    place.set_unmounted(one.unmounted);
    if (const auto space = spaces_.of(one.folder, loop_.now_ns())) {
      place.set_free_bytes(space->free_bytes);
      place.set_total_bytes(space->total_bytes);
    }
  }
  return told;
}

void Shell::watch_folders() {
  if (node_) {
    folders_.set_folders(data_folders(node_.setup(), FolderWatch::Links::resolved));
  } else if (const Setup* setup = configuration_.setup()) {
    folders_.set_folders(data_folders(*setup, FolderWatch::Links::to_resolve));
  } else {
    folders_.set_folders({});
  }
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
  for (v1::Order& order : due) take_order(order);
}

void Shell::take_order(v1::Order& order) {
  OrderContext process{name_, quits_, state_, {}, {}};
  if (start_order_) process.prepared = node_.setup().run;
  if (node_) process.run = run_;
  const OrderVerdict verdict = judge(order, process);
  switch (verdict.action) {
    case OrderVerdict::Action::hold:
      held_orders_.push_back(std::move(order));
      return;
    case OrderVerdict::Action::relay:
      node_->on_command(order.tell());
      return answer(order.id(), "");
    case OrderVerdict::Action::set_level:
      return answer(order.id(), telemetry::set_log_level(order.reason())
                                    ? ""
                                    : "'" + order.reason() + "' is not a log level");
    case OrderVerdict::Action::restart:
      spdlog::warn("process restarting reason=\"{}\"", order.reason());
      answer(order.id(), "");
      exit_status_ = kStartAgain;
      quits_ = "restart";
      return drop_node();
    case OrderVerdict::Action::join_start:
      start_order_ = order.id();
      return;
    case OrderVerdict::Action::reply:
      return answer(order.id(), verdict.error);
    case OrderVerdict::Action::carry_out:
      return carry_out(verdict.command, order);
  }
}

void Shell::carry_out(control::Command command, const v1::Order& order) {
  configuration_.stop_trial();
  const std::string error = transition(command, order);
  if (configuration_.is_trying() || start_order_ == order.id()) return;
  if (!error.empty()) report_failed(order.command(), error);
  if (command == control::Command::stop && error.empty() && node_) {
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
      configuration_.reset();
      watch_folders();
      node_.forget_failures();
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
  std::string error = configuration_.begin(order, loop_.now_ns());
  if (error.empty() && !configuration_.is_trying()) enter_ready();
  return error;
}

void Shell::look_at_trial(TimeNs now_ns) {
  const std::optional<Configuration::Trial> trial = configuration_.look(now_ns);
  if (!trial) return;
  if (trial->problem.empty()) {
    if (trial->error.empty()) enter_ready();
    return answer(trial->order, trial->error);
  }
  reason_ = trial->problem;
  bus_.state_changed();
  spdlog::error("cannot carry out command=configure reason=\"{}\"", trial->problem);
  answer(trial->order, trial->problem, true);
}

void Shell::enter_ready() {
  reason_.clear();
  watch_folders();
  set_state(control::State::ready);
  bus_.state_changed();
}

std::string Shell::start(const v1::Order& order) {
  const RunNumber run(order.run());
  node_.begin(run);
  telemetry::set_log_run(order.run());
  if (metrics_ != nullptr) metrics_->set_run(run);
  try {
    std::unique_ptr<Setup> setup = run_setup(*configuration_.setup(), order);
    setup->reports = this;
    setup->watcher = this;
    setup->samples = this;
    setup->one_run = line_.one_run;
    node_.make(std::move(setup));
  } catch (const std::exception& error) {
    // A restarted process may find the address free.
    if (dynamic_cast<const AddressInUse*>(&error) != nullptr) exit_status_ = kAddressInUse;
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
  run_ = node_.setup().run;
  ended_ = false;
  begun_ = false;
  reason_.clear();
  account_.begin();
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
    configuration_.forget_epoch();
    set_state(node_.count_failure());
  }
  if (supervisor && !account_.is_sent()) bus_.run_over(account_.take(run_, failure));
  bus_.state_changed();
  if (stop_order_) answer(*std::exchange(stop_order_, {}), "");
  if (line_.one_run) end_with_run(failure);
  telemetry::set_log_run(0);
}

// In a farm of one run the supervisor keeps its journal until run control has the account, so that a
// restarted supervisor can send it again.
void Shell::hand_over_account() {
  if (!node_ || !line_.one_run) return;
  if (account_.has_summary()) bus_.run_over(account_.take(run_, node_->failure()));
  if (account_.take_received(bus_.all_told())) tell(v1::Command::SHUTDOWN, {});
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
  node_.drop();
  start_order_.reset();
  watch_folders();
  if (!node_.left_behind() || !quits_.empty() || line_.one_run) return;
  quits_ = "a filter step did not end";
  exit_status_ = kStartAgain;
  spdlog::error("process restarting reason=\"{}\"", quits_);
}

void Shell::on_summary(const v1::RunSummary& summary) { account_.set_summary(summary); }

void Shell::take(const v1::Report& report) {
  v1::Report more = shell_counters();
  const bool none = more.ByteSizeLong() == 0;
  if (!none) more.MergeFrom(report);
  const v1::Report& told = none ? report : more;
  bus_.take(told);
  if (metrics_ != nullptr) metrics_->take(told);
}

// Returns dropped messages and the space on the disk, which the node cannot measure.
v1::Report Shell::shell_counters() const {
  v1::Report report;
  const bus::ClientCounters bus = bus_.counters();
  const std::pair<std::string_view, std::uint64_t> dropped[] = {{"sent", bus.dropped_messages},
                                                                {"published", bus.dropped_published},
                                                                {"received", bus.dropped_received}};
  for (const auto& [what, count] : dropped) {
    if (count > 0) reports::ReportCounters(report).of("bus.dropped.", what) = count;
  }
  if (folders_.places().empty()) return report;
  if (const auto space = spaces_.of(folders_.places().front().folder, loop_.now_ns())) {
    reports::Gauges gauges(report);
    gauges["disk.free_bytes"] = static_cast<double>(space->free_bytes);
    gauges["disk.total_bytes"] = static_cast<double>(space->total_bytes);
  }
  return report;
}

void Shell::on_signal(int signal) {
  const std::string name = signal == SIGINT ? "SIGINT" : "SIGTERM";
  if (!quits_.empty()) done_ = true;  // second signal
  if (quits_.empty()) exit_status_ = status_of_signal(role_, signal);
  quits_ = name;
  if (node_) node_->on_signal(name);
}

}  // namespace weir::node
