#include "alarm_watch.hpp"
#include "commands.hpp"
#include "disks.hpp"
#include "farm_disks.hpp"
#include "frozen_watch.hpp"
#include "health_watch.hpp"
#include "hook_account.hpp"
#include "hook_desk.hpp"
#include "memory.hpp"
#include "memory_contents.hpp"
#include "parts.hpp"
#include "preflight.hpp"
#include "process_messages.hpp"
#include "rule_watch.hpp"
#include "sequence_watch.hpp"
#include "settings.hpp"
#include "taps.hpp"
#include "view.hpp"
#include "watchers.hpp"
#include "web.hpp"
#include <weir/clock/clock.hpp>
#include <weir/config/rules.hpp>
#include <weir/node/folder_watch.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/log_file.hpp>
#include <weir/node/setup.hpp>
#include <weir/node/space_probe.hpp>
#include <weir/node/standstill_report.hpp>
#include <weir/ports/endpoint_text.hpp>
#include <weir/run_control/run_control.hpp>
#include <weir/telemetry/log.hpp>
#include <weir/transport/free_ports.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

constexpr DurationNs kShowInterval = kSecond;
constexpr DurationNs kPortLookInterval = 2 * kSecond;

// Hz; 0: triggers from outside, or as many as possible.
double trigger_rate(const v1::TriggerSettings& trigger) {
  const bool known =
      trigger.mode() == v1::TriggerSettings::MODE_RATE || trigger.mode() == v1::TriggerSettings::MODE_POISSON;
  return known ? trigger.rate_hz() : 0;
}

ConstBytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

// Connects the parts: calls and their order.
class RunControl::Core final : private bus::HubHandler {
 public:
  explicit Core(RunControlSettings settings);
  ~Core();

  void turn(DurationNs wait);
  [[nodiscard]] v1::Reply request(const v1::Request& request, security::BusRole role);
  [[nodiscard]] v1::FarmView view() const;
  [[nodiscard]] bool finished() const { return machine_.all_gone(); }
  [[nodiscard]] const bus::Hub& hub() const { return hub_; }
  [[nodiscard]] const Web* web() const { return web_ ? &*web_ : nullptr; }

 private:
  void on_message(const bus::Sender& from, const v1::BusMessage& message) override;
  void watch(const bus::Sender& from, const v1::Request& request);
  void tell_watchers();
  [[nodiscard]] v1::BusMessage watched(std::uint64_t id) const;
  [[nodiscard]] bool sends_long(const bus::Sender& from) const override;
  void on_published(std::string_view tag, ConstBytes payload) override;
  void tell_ports();
  [[nodiscard]] bool begins_anew() const;
  void recall(const v1::ControlMemory& before);
  [[nodiscard]] bool recall_settings(const v1::ControlMemory& before);
  [[nodiscard]] v1::ControlMemory memory() const;
  [[nodiscard]] std::string carry_out(const v1::Request& request);
  void look_for_ports();
  void look_at_hooks();
  void answer_later(const bus::Sender& from, const v1::Request& request, v1::Reply& reply);
  void look_at_rules();
  void look_at_records();
  void look_at_disks();
  void look_at_space();
  void look_at_alarms();
  [[nodiscard]] std::vector<control::Finding> findings() const;
  void log_run();
  void show_page();
  void note_events();
  void carry_out_actions();
  void lose_run(const control::LostRun& lost);
  void look_for_account();
  void open_page(const RunControlSettings& settings);

  bool begins_with_file_;
  FarmSetup setup_;
  const OwnSettings own_;
  node::LogFile log_file_;
  node::StandstillReport pauses_;
  RunBook book_;
  Memory memory_;
  bus::Hub hub_;
  std::optional<Web> web_;
  EventLog log_;
  control::FarmMachine machine_;
  Members members_;
  Orders orders_;
  HookDesk hooks_;
  control::TransitionWatch transitions_;
  struct Asker {
    std::string client;  // that waits for hooks; empty: none
    std::uint64_t id = 0;
  };
  Asker asker_;
  Parts parts_;
  ProcessMessages reception_;
  Commands commands_;
  RuleWatch rules_;
  HealthWatch health_;
  AlarmWatch alarms_;
  SequenceWatch sequence_;
  node::FolderWatch folders_;  // of run control
  node::SpaceProbe probe_;     // likewise
  FarmDisks disks_;
  TimeNs next_disk_look_ns_ = 0;
  FrozenWatch frozen_;
  Taps taps_;
  FarmWatchers watchers_;
  std::function<void()> going_off_;
  TimeNs next_show_ns_ = 0;
  TimeNs next_port_look_ns_ = 0;
  std::string no_port_;        // why no process can connect; empty if they can
  bool no_port_told_ = false;  // in the log
  struct Shown {
    bool over = false;
    bool all_gone = false;
    std::uint32_t account = 0;
    bool operator==(const Shown&) const = default;
  };
  Shown shown_;
  RunNumber logged_run_;
};

RunControl::Core::Core(RunControlSettings settings)
    : begins_with_file_(settings.begins_with_file),
      setup_(settings.farm_file, settings.sets, settings.fallback),
      own_(own_settings(setup_, settings.one_run)),
      log_file_(own_.run_out + "/log/run-control.log", own_.log_file_bytes_max, own_.log_files_kept),
      book_(made_out(settings, own_), settings.one_run ? RunBook::Keeper::starter : RunBook::Keeper::self),
      memory_(memory_path(settings, own_), settings.one_run ? Memory::Extent::state : Memory::Extent::farm),
      hub_(hub_settings(settings, own_, setup_.plan().nodes.size())),
      log_([this](const v1::FarmView::Line& line) {
        if (web_) web_->log("run-control", line);
        hub_.publish("log.run-control", bytes_of(line.SerializeAsString()));
      }),
      machine_(own_.members, own_.deadlines, settings.one_run),
      members_(machine_.members().size()),
      orders_(machine_, members_, setup_, book_,
              [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      hooks_(own_.hooks, made_out(settings, own_) + "/hooks", log_),
      parts_{setup_, own_, log_, book_, machine_, members_, orders_, {}, awake_now_ns()},
      reception_(parts_, {hub_.publish_port(), hub_.subscribe_port()},
                 [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      commands_(parts_),
      rules_(own_.rules, log_, commands_),
      health_(begins_anew() ? HealthWatch::Begin::anew : HealthWatch::Begin::recalled, own_.heartbeat_ns,
              flow_limits(rules_.rules()), parts_.now_ns),
      alarms_(own_.alarms, settings.one_run ? "" : made_out(settings, own_) + "/alarms.jsonl", log_),
      disks_(own_.disk_limits),
      frozen_(own_.deadlines.return_ns),
      taps_(parts_, hub_.subscribe_port(),
            [this](const std::string& to, const v1::BusMessage& message) { hub_.send(to, message); }),
      going_off_(std::move(settings.going_off)) {
  health_.set_groups(own_.groups);
  parts_.hooks = &hooks_;
  parts_.folder = made_out(settings, own_);
  if (!settings.one_run) {
    const char* key = own_.control_out.empty() ? "run.out" : "control.out";
    folders_.set_folders({{key, made_out(settings, own_), node::FolderWatch::Links::resolved}});
  }
  tell_ports();
  hub_.observe("report.");
  hub_.observe("log.");
  open_page(settings);
  if (memory_.before() != nullptr) recall(*memory_.before());
  if (!setup_.file_problem().empty())
    log_.error("the farm file cannot be used, run control continues with the farm as it was started: " +
               setup_.file_problem());
}

RunControl::Core::~Core() {
  for (const std::string& one : book_.records().unwritten)
    log_.error(one + " is lost: run control ends before it could be written");
}

void RunControl::Core::open_page(const RunControlSettings& settings) {
  const std::string& page = settings.page.empty() && !settings.one_run ? own_.page : settings.page;
  if (page.empty()) return;
  web_.emplace(node::parse_endpoint(page), page_token(made_out(settings, own_) + "/page-token"),
               own_.page_names, made_out(settings, own_));
}

// False: this process takes over the farm of one that died. `weir up` starts a new session, unless a run is
// open.
bool RunControl::Core::begins_anew() const {
  const v1::ControlMemory* before = memory_.before();
  return before == nullptr || (begins_with_file_ && !before->run_open());
}

void RunControl::Core::recall(const v1::ControlMemory& before) {
  members_.supervisor_listens(RunNumber(before.run()), before.supervisor(), {});
  parts_.disks.recall(disks_of(before));
  rules_.recall(before.next_by());
  alarms_.recall(before, {parts_.now_ns, utc_now_ns()});
  book_.recall(RunNumber(before.run()), before.run_begin_utc_ns());
  book_.recall(before.identity(), {before.run_faults().begin(), before.run_faults().end()},
               {before.run_fields().begin(), before.run_fields().end()});
  control::Remembered farm = farm_of(before);
  if (!recall_settings(before)) ++farm.epoch;  // the processes are given the farm as it is now
  machine_.recall(farm, parts_.now_ns);
  log_.note(control::Level::info,
            fmt::format("run control resumed: the farm was {}, run {}", before.goal(), before.run()));
}

// True: the processes have the configuration that this run control has.
bool RunControl::Core::recall_settings(const v1::ControlMemory& before) {
  if (begins_with_file_ && !before.run_open()) return before.farm_digest() == setup_.digest();
  std::string problem;
  const bool same = setup_.recall(settings_of(before, memory_.farm()), problem);
  if (!problem.empty())
    log_.error("settings of an earlier session do not fit the farm file any more: " + problem);
  if (!same && before.run_open())
    log_.error(
        "the farm file was changed, and the active run's farm cannot be read: processes that restart in this "
        "run take no part");
  return same || before.run_open();
}

v1::ControlMemory RunControl::Core::memory() const {
  v1::ControlMemory memory;
  add_farm(machine_.remembered(), memory);
  add_settings(setup_.remembered(), memory);
  *memory.mutable_identity() = book_.identity();
  for (const std::string& one : book_.faults()) memory.add_run_faults(one);
  memory.mutable_run_fields()->insert(book_.fields().begin(), book_.fields().end());
  memory.set_supervisor(members_.supervisor(RunNumber(memory.run())));
  memory.set_next_by(rules_.next_by());
  memory.set_run_begin_utc_ns(book_.begin_utc());
  add_disks(parts_.disks, memory);
  alarms_.add_to(memory);
  return memory;
}

// Warns if a port differs from the farm file's, which a firewall may be configured for.
void RunControl::Core::tell_ports() {
  const auto tell = [this](const char* what, std::uint16_t port, std::uint16_t is) {
    if (port == 0 || port == is) return;
    log_.note(control::Level::warning,
              fmt::format("port {} is taken: {} port {} instead; open it in the firewall", port, what, is));
  };
  tell("publications go to", hub_.settings().publish_port, hub_.publish_port());
  tell("subscribers connect to", hub_.settings().subscribe_port, hub_.subscribe_port());
}

void RunControl::Core::turn(DurationNs wait) {
  hub_.poll(wait, *this);
  log_file_.look(parts_.now_ns);
  parts_.now_ns = awake_now_ns();
  if (const std::string pause = pauses_.look(); !pause.empty())
    log_.note(control::Level::warning, "run control " + pause);
  // Without keys a handshake fails only where a process ends in it.
  if (hub_.settings().keys) log_.strangers(hub_.counters(), parts_.now_ns);
  machine_.tick(parts_.now_ns, parts_.actions);
  look_for_ports();
  frozen_.look(parts_);
  health_.set_freeze(frozen_.freeze());
  look_at_records();
  look_at_disks();
  look_at_rules();
  health_.set_error_share_max(setup_.configured().filter().error_share_max());
  health_.set_expected_rate(trigger_rate(setup_.configured().trigger()));
  health_.look(machine_, members_, parts_.now_ns);
  look_at_alarms();
  if (web_) {
    web_->answer([this](const v1::Request& wish) { return carry_out(wish); });
  }
  look_at_hooks();
  carry_out_actions();
  look_for_account();
  tell_watchers();
  log_run();
  for (const std::string& failure : {memory_.keep_farm(setup_), memory_.keep(memory())}) {
    if (!failure.empty()) log_.error(failure);
  }
  show_page();
}

void RunControl::Core::look_at_hooks() {
  if (own_.hooks.empty()) return;
  if (const auto answered = commands_.look_at_hooks()) {
    if (!asker_.client.empty()) {
      v1::BusMessage message;
      message.mutable_reply()->set_id(asker_.id);
      message.mutable_reply()->set_error(answered->error);
      message.mutable_reply()->set_good(answered->error.empty());
      hub_.send(asker_.client, message);
    }
    asker_ = {};
  }
  const control::TransitionWatch::Seen now{machine_.state(), machine_.under_way(),
                                           !machine_.why_refused().empty(), book_.open()};
  for (const control::TransitionWatch::Passed& one : transitions_.look(now)) {
    if (hooks_.has(one.point)) hooks_.inform(one.point, account_after(parts_, one.run));
  }
}

// Sends the answer to a command once its hooks have answered.
void RunControl::Core::answer_later(const bus::Sender& from, const v1::Request& request, v1::Reply& reply) {
  reply.set_pending_ms(static_cast<std::uint64_t>(hooks_.longest() / kMillisecond));
  asker_ = {from.id, request.id()};
}

// Processes of this host that cannot connect cannot report why.
void RunControl::Core::look_for_ports() {
  if (parts_.now_ns < next_port_look_ns_) return;
  next_port_look_ns_ = parts_.now_ns + kPortLookInterval;
  const std::string why = transport::no_port_left();
  if (!why.empty() && !std::exchange(no_port_told_, true)) log_.error(why);
  no_port_ = why;
}

// Also immediately when the farm is off: the process may end before the next second, and the page keeps its
// last state.
void RunControl::Core::show_page() {
  if (!web_) return;
  const v1::RunSummary* account = book_.account();
  const Shown now{machine_.is_over(), machine_.all_gone(), account == nullptr ? 0 : account->run()};
  if (parts_.now_ns < next_show_ns_ && now == shown_) return;
  shown_ = now;
  next_show_ns_ = parts_.now_ns + kShowInterval;
  web_->show(view(), account);
}

void RunControl::Core::look_at_rules() {
  if (rules_.wants_next() && !machine_.under_way() && !machine_.remembered().run_open)
    rules_.start_next(machine_.state(), setup_.run_sets(), run_record::inherited(book_.fields()));
  if (rules_.is_due(parts_.now_ns))
    rules_.look(rules_view(machine_, members_, book_.begin_utc(), utc_now_ns(), health_.flow()),
                parts_.now_ns);
}

void RunControl::Core::look_at_records() {
  if (book_.keeper() == RunBook::Keeper::starter) return;
  for (const control::Event& event : book_.look(parts_.now_ns)) log_.note(event.level, event.text);
  control::HealthView::Records records = book_.records();
  if (!memory_.failure().empty()) {
    records.unwritten.emplace_back("the farm's state");
    if (records.why.empty()) records.why = memory_.failure();
  }
  health_.set_records(std::move(records));
}

void RunControl::Core::look_at_disks() {
  if (folders_.look(parts_.now_ns)) parts_.own_places = folders_.places();
  look_at_space();
  if (parts_.now_ns < next_disk_look_ns_) return;
  next_disk_look_ns_ = parts_.now_ns + node::FolderWatch::kInterval;
  auto missing = missing_disks(parts_);
  note_unmounted(parts_, missing);
  health_.set_missing_disks(std::move(missing));
}

void RunControl::Core::look_at_space() {
  probe_.look(parts_.own_places, parts_.now_ns);
  parts_.own_spaces.clear();
  for (const control::FolderPlace& place : parts_.own_places) {
    if (const auto space = probe_.of(place.folder, parts_.now_ns)) parts_.own_spaces[place.folder] = *space;
  }
  disks_.look(parts_);
  health_.set_disks(disks_.uses());
}

// The farm that ends on purpose raises no alarm.
void RunControl::Core::look_at_alarms() {
  if (alarms_.is_due(parts_.now_ns)) alarms_.look(parts_, findings(), utc_now_ns());
  alarms_.turn(parts_, utc_now_ns());
}

std::vector<control::Finding> RunControl::Core::findings() const {
  auto findings = health_.findings(machine_, members_, book_.last_run(machine_.run()), parts_.now_ns);
  if (!no_port_.empty()) findings.insert(findings.begin(), {control::Gravity::error, "no port", no_port_});
  const auto below = std::find_if(findings.begin(), findings.end(),
                                  [](const auto& one) { return one.gravity < control::Gravity::warning; });
  auto more = hooks_.findings();
  if (auto silent = sequence_.finding(parts_.now_ns)) more.push_back(std::move(*silent));
  findings.insert(below, more.begin(), more.end());
  return findings;
}

void RunControl::Core::log_run() {
  const RunNumber run = machine_.remembered().run;
  if (std::exchange(logged_run_, run) != run) telemetry::set_log_run(run.value);
}

void RunControl::Core::note_events() {
  for (const control::Event& event : std::exchange(parts_.actions.events, {}))
    log_.note(event.level, event.text);
}

void RunControl::Core::carry_out_actions() {
  note_events();
  // Answers may be sent inside; resulting actions belong to the next turn.
  const control::FarmActions taken = std::exchange(parts_.actions, {});
  if (taken.lost) lose_run(*taken.lost);
  if (!taken.without.empty()) {
    v1::Command command;
    command.set_kind(v1::Command::DRAIN);
    command.set_reason("refuses to take part");
    for (const std::size_t member : taken.without) command.add_nodes(machine_.members()[member].plan.name);
    orders_.tell_supervisor(command);
  }
  if (machine_.going_off() && going_off_) std::exchange(going_off_, nullptr)();
  for (const control::Order& order : taken.orders) orders_.send(order);
}

void RunControl::Core::lose_run(const control::LostRun& lost) {
  std::vector<v1::Report> reports;
  for (std::size_t i = 0; i < members_.size(); ++i) reports.push_back(members_[i].report);
  for (const control::Event& event : book_.lose(lost, reports, setup_.configured().farm()))
    log_.note(event.level, event.text);
}

void RunControl::Core::look_for_account() {
  const auto run = book_.take_overdue(machine_.remembered().run_open, machine_.all_gone(), parts_.now_ns);
  if (run) lose_run({*run, true, "its supervisor ended it, and the account did not arrive"});
}

void RunControl::Core::on_message(const bus::Sender& from, const v1::BusMessage& message) {
  parts_.now_ns = awake_now_ns();
  if (message.has_request() && message.request().command() == name(control::RequestKind::watch)) {
    watch(from, message.request());
  } else if (message.has_request()) {
    v1::BusMessage answer;
    const bool waited = hooks_.waits().has_value();
    *answer.mutable_reply() = request(message.request(), from.role);
    if (!waited && hooks_.waits()) answer_later(from, message.request(), *answer.mutable_reply());
    hub_.send(from.id, answer);
  } else if (from.role == security::BusRole::node || from.role == security::BusRole::operator_) {
    reception_.take(from, message);
    if (message.has_run_over() && members_.of(from.id)) watchers_.take(message);
  } else {
    reception_.refuse(from, "this key does not belong to a process of the farm");
  }
  // The next message of this turn may ask for the state, and has to get the events that led to it.
  note_events();
}

// The supervisor's account has the reports of all processes.
bool RunControl::Core::sends_long(const bus::Sender& from) const {
  const auto member = members_.of(from.id);
  return member && machine_.members()[*member].plan.role == Role::supervisor;
}

void RunControl::Core::on_published(std::string_view tag, ConstBytes payload) {
  const std::size_t dot = tag.find('.');
  const auto member = machine_.find(tag.substr(dot + 1));
  if (!member) return;
  const auto parse = [payload](auto& message) {
    return message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  };
  if (tag.starts_with("report.")) {
    v1::Report report;
    if (!parse(report)) return;
    if (web_ && machine_.members()[*member].plan.role == Role::supervisor)
      web_->take_histograms(machine_.remembered().run.value, report.filter_histograms());
    report.clear_filter_histograms();
    members_.reported(*member, std::move(report));
    if (machine_.members()[*member].plan.role == Role::supervisor) watchers_.supervisor_reported();
  } else if (tag.starts_with("log.") && web_) {
    v1::FarmView::Line line;
    if (parse(line)) web_->log(machine_.members()[*member].plan.name, line);
  }
}

void RunControl::Core::watch(const bus::Sender& from, const v1::Request& request) {
  if (watchers_.add(from.id, request.id(), parts_.now_ns)) {
    hub_.send(from.id, watched(request.id()));
    if (watchers_.run_over() != nullptr) hub_.send(from.id, *watchers_.run_over());
    return;
  }
  v1::BusMessage full;
  full.mutable_reply()->set_id(request.id());
  full.mutable_reply()->set_error("too many clients are watching the farm");
  hub_.send(from.id, full);
}

void RunControl::Core::tell_watchers() {
  const FarmWatchers::Due due = watchers_.due({machine_.state(), machine_.under_way()});
  if (due == FarmWatchers::Due::nothing) return;
  for (const FarmWatchers::Watcher& one : watchers_.present(parts_.now_ns)) {
    hub_.send(one.client, watched(one.id));
    if (due == FarmWatchers::Due::run_over) hub_.send(one.client, *watchers_.run_over());
  }
}

v1::BusMessage RunControl::Core::watched(std::uint64_t id) const {
  v1::BusMessage message;
  v1::Reply& reply = *message.mutable_reply();
  reply.set_id(id);
  reply.set_good(true);
  *reply.mutable_view() = view();
  reply.mutable_view()->clear_runs();
  return message;
}

v1::Reply RunControl::Core::request(const v1::Request& request, security::BusRole role) {
  v1::Reply reply;
  reply.set_id(request.id());
  if (request.command() == name(control::RequestKind::status)) {
    *reply.mutable_view() = view();
  } else if (request.command() == name(control::RequestKind::tap)) {
    reply.set_error(taps_.take(request.tap(), *reply.mutable_tap()));
  } else if (request.command() == name(control::RequestKind::preflight)) {
    control::PreflightFacts facts = preflight_facts(parts_, commands_.identity());
    facts.findings = findings();
    facts.disks = disks_.uses();
    facts.channels = alarms_.channels();
    add_checks(facts, reply);
  } else if (role == security::BusRole::operator_) {
    reply.set_error(carry_out(request));
  } else {
    reply.set_error("an observer's key cannot command: use an operator's");
  }
  reply.set_good(reply.error().empty());
  return reply;
}

std::string RunControl::Core::carry_out(const v1::Request& request) {
  if (request.command() == name(control::RequestKind::alarm))
    return alarms_.carry_out(request.alarm(), request.by(), {parts_.now_ns, utc_now_ns()});
  if (request.command() == name(control::RequestKind::sequence))
    return sequence_.take(request.sequence(), request.by(), parts_.now_ns, utc_now_ns());
  std::string error = commands_.carry_out(request);
  if (error.empty() && control::command_of(request.command())) rules_.commanded();
  return error;
}

v1::FarmView RunControl::Core::view() const {
  v1::FarmView view;
  view.set_farm(setup_.configured().farm());
  view.set_one_run(book_.keeper() == RunBook::Keeper::starter);
  view.set_over(machine_.is_over());
  if (const auto flow = health_.flow(); flow && flow->rate) view.set_offered_per_s(*flow->rate);
  view.set_utc_ns(utc_now_ns());
  add_machine(machine_, view);
  if (const auto command = hooks_.waits()) view.set_under_way(std::string(name(*command)));
  add_health(with_channels(findings(), alarms_.findings()), view);
  alarms_.add_to(view);
  sequence_.add_to(view, parts_.now_ns);
  add_disks(disks_.uses(), view);
  for (const std::string& one : setup_.configured_sets()) view.add_sets(one);
  const bool is_on =
      machine_.state() == control::State::running || machine_.state() == control::State::paused;
  for (v1::FarmView::Override& one : setup_.shown(is_on)) *view.add_overrides() = std::move(one);
  *view.mutable_identity() = node::without_files(book_.identity());
  add_fields(book_.fields(), setup_.configured().control(), view);
  view.set_run_begin_utc_ns(is_on ? book_.begin_utc() : 0);
  for (std::size_t i = 0; i < members_.size(); ++i)
    *view.add_nodes() = view_of(machine_.members()[i], members_[i], parts_.now_ns);
  for (const auto& line : log_.lines()) *view.add_events() = line;
  for (const auto& run : book_.runs()) *view.add_runs() = run;
  add_counters(hub_.counters(), log_.refusals(), view);
  add_counters(hooks_.counts(), view);
  return view;
}

RunControl::RunControl(RunControlSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
RunControl::~RunControl() = default;

void RunControl::turn(DurationNs wait) { core_->turn(wait); }
v1::Reply RunControl::request(const v1::Request& request) {
  return core_->request(request, security::BusRole::operator_);
}
v1::FarmView RunControl::view() { return core_->view(); }
bool RunControl::finished() const { return core_->finished(); }
const bus::Hub& RunControl::hub() const { return core_->hub(); }
std::string RunControl::page() const {
  if (core_->web() == nullptr) return {};
  const ports::Endpoint& at = core_->web()->endpoint();
  return "http://" + ports::to_text(at) + "/";
}

}  // namespace weir::run_control
