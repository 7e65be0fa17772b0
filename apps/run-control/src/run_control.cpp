#include "core.hpp"
#include "memory.hpp"
#include <weir/base/text.hpp>
#include <weir/node/process.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/node/setup.hpp>
#include <weir/run/records.hpp>
#include <weir/telemetry/log.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace weir::run_control {
namespace {

constexpr DurationNs kShowInterval = kSecond;
constexpr DurationNs kNever = 365LL * 24 * 3600 * kSecond;
constexpr std::size_t kEventBytesMax = 2000;
constexpr double kAfterDrainS = 20;  // for final reports, and what is reconciled then

DurationNs seconds(double value) { return static_cast<DurationNs>(std::llround(value * kSecond)); }

// Throws when the farm file gives a duty to nobody. All of those that one parent starts are waited for.
std::vector<control::MemberPlan> members_of(const config::FarmPlan& plan, const v1::ControlSettings& settings,
                                            bool one_run) {
  std::vector<control::MemberPlan> members;
  for (const config::NodePlan& node : plan.nodes) {
    if (!node.masked) members.push_back({node.name, node.role, control::Duty::dynamic});
  }
  const auto give = [&](const auto& names, control::Duty duty, const char* key) {
    for (const std::string& name : names) {
      const auto found =
          std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.name == name; });
      if (found == members.end())
        throw std::runtime_error(fmt::format("control.{}: the farm has no process '{}'", key, name));
      found->duty = duty;
    }
  };
  if (!one_run) give(settings.transient(), control::Duty::transient, "transient");
  give(settings.essential(), control::Duty::essential, "essential");
  return members;
}

control::Deadlines deadlines_of(const v1::Farm& farm, bool one_run) {
  const v1::ControlSettings& settings = farm.control();
  control::Deadlines deadlines;
  deadlines.order_ns = seconds(settings.order_s());
  deadlines.init_ns = seconds(settings.init_s());
  deadlines.start_ns = seconds(settings.start_s());
  deadlines.stop_ns = seconds(std::max(settings.stop_s(), farm.run().drain_timeout_s() + kAfterDrainS));
  // Whoever started the processes has no other run for them: a drain lasts while there is progress.
  if (one_run) deadlines.stop_ns = kNever;
  deadlines.return_ns = seconds(settings.return_s());
  deadlines.silence_ns = settings.silence_ms() * kMillisecond;
  return deadlines;
}

bus::HubSettings hub_settings(const v1::ControlSettings& settings, const std::string& listen, bool isolated) {
  const ports::Endpoint at = node::parse_endpoint(listen);
  bus::HubSettings hub;
  hub.host = at.host;
  hub.port = at.port;
  if (at.port != 0) {
    hub.publish_port = static_cast<std::uint16_t>(at.port + 1);
    hub.subscribe_port = static_cast<std::uint16_t>(at.port + 2);
  }
  const std::string& folder = settings.keys();
  if (folder.empty()) {
    if (!isolated && !config::is_loopback(listen)) {
      throw std::runtime_error(
          "control.listen: " + at.host +
          " is not loopback, where the bus needs keys: make them with `weir keys new FOLDER`, and "
          "name the folder in control.keys");
    }
    return hub;
  }
  auto keys = security::read_curve_keys(folder + "/" + security::curve_file(security::BusRole::control));
  if (!keys) throw std::runtime_error("control.keys: " + keys.error());
  auto clients = security::read_clients(folder + "/" + std::string(security::kClientsFile));
  if (!clients) throw std::runtime_error("control.keys: " + clients.error());
  hub.keys = std::move(*keys);
  hub.clients = std::move(*clients);
  return hub;
}

control::Remembered remembered(const v1::ControlMemory& memory) {
  control::Remembered kept;
  kept.goal = control::state_of(memory.goal()).value_or(control::State::idle);
  kept.run = RunNumber(memory.run());
  kept.epoch = memory.epoch();
  kept.run_open = memory.run_open();
  kept.excluded.assign(memory.excluded().begin(), memory.excluded().end());
  return kept;
}

}  // namespace

TimeNs monotonic_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

UtcNs utc_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

RunControl::Core::Core(RunControlSettings wanted)
    : settings(std::move(wanted)), begin_ns(monotonic_now()), now_ns(begin_ns) {
  digest = node::farm_digest(settings.farm_file);
  if (const std::string problems = load({}); !problems.empty()) throw std::runtime_error(problems);
  file = farm;
  if (const std::string why = node::allow_descriptors(plan.nodes.size()); !why.empty())
    throw std::runtime_error(why);
  const std::string& listen = settings.listen.empty() ? file.control().listen() : settings.listen;
  if (listen.empty()) {
    throw std::runtime_error(settings.farm_file +
                             ": control.listen is empty: set it to where run control is to listen, as in "
                             "127.0.0.1:7700");
  }
  out = file.control().out().empty() || settings.one_run ? file.run().out() : file.control().out();
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) throw std::runtime_error(fmt::format("control.out: cannot make '{}': {}", out, error.message()));
  history.emplace(out + "/runs.jsonl", kRunsKept);
  const auto memory =
      settings.one_run ? Expected<v1::ControlMemory, std::string>() : read_memory(out + "/run-control.state");
  if (!memory) throw std::runtime_error("control.out: " + memory.error());
  hub.emplace(hub_settings(file.control(), listen, settings.isolated));
  tell_ports();
  hub->observe("report.");
  hub->observe("log.");
  machine.emplace(members_of(plan, file.control(), settings.one_run), deadlines_of(file, settings.one_run));
  processes.resize(machine->members().size());
  read_rules();
  taps.emplace(file.tap().taps_max());
  if (const std::string& page =
          settings.page.empty() && !settings.one_run ? file.control().page() : settings.page;
      !page.empty()) {
    const auto& names = file.control().page_names();
    web.emplace(node::parse_endpoint(page), page_token(out + "/page-token"),
                std::vector<std::string>(names.begin(), names.end()));
  }
  if (memory->goal().empty()) return;
  kept = *memory;
  recalled = true;
  machine->recall(remembered(*memory), now_ns);
  sets.assign(memory->sets().begin(), memory->sets().end());
  run_sets.assign(memory->run_sets().begin(), memory->run_sets().end());
  supervisor = memory->supervisor();
  next_by = memory->next_by();
  run_begin_utc = memory->run_begin_utc_ns();
  if (const std::string problems = load(sets); !problems.empty()) {
    note(control::Level::error, "what was set before does not fit the farm file any more: " + problems);
    sets.clear();
    farm = file;
  }
  note(control::Level::info,
       fmt::format("run control goes on: the farm was {}, run {}", memory->goal(), memory->run()));
}

// A firewall lets through what the farm file names.
void RunControl::Core::tell_ports() {
  const bus::HubSettings& wanted = hub->settings();
  const auto tell = [this](const char* what, std::uint16_t port, std::uint16_t is) {
    if (port == 0 || port == is) return;
    note(control::Level::warning,
         fmt::format("port {} is taken: {} port {} instead, which a firewall has to let through", port, what,
                     is));
  };
  tell("what is published goes to", wanted.publish_port, hub->publish_port());
  tell("who listens comes to", wanted.subscribe_port, hub->subscribe_port());
}

// The farm with these keys set; problems, one a line, change nothing.
std::string RunControl::Core::load(const std::vector<std::string>& more) {
  auto read = config::load_farm(settings.farm_file);
  if (!read) return config::to_text(read.error());
  for (const std::vector<std::string>* list : {&std::as_const(settings.sets), &more}) {
    for (const std::string& one : *list) {
      if (const auto problems = config::apply_override(read->farm, one, &read->locations); !problems.empty())
        return config::to_text(problems);
    }
  }
  config::Problems problems = config::validate(read->farm, read->locations);
  std::erase_if(problems, [](const config::Problem& one) { return one.severity != config::Severity::error; });
  if (!problems.empty()) return config::to_text(problems);
  auto laid_out = config::expand(read->farm, read->locations);
  if (!laid_out) return config::to_text(laid_out.error());
  farm = read->farm;
  plan = *laid_out;
  return {};
}

void RunControl::Core::turn(DurationNs wait) {
  hub->poll(wait, *this);
  now_ns = monotonic_now();
  machine->tick(now_ns, actions);
  look_at_rules();
  look_at_progress();
  if (web) {
    web->answer([this](const v1::Request& wish) { return carry_out(wish); });
  }
  carry_out_actions();
  keep_memory();
  if (web && now_ns >= next_show_ns) {
    next_show_ns = now_ns + kShowInterval;
    web->show(view(), last_summary ? &*last_summary : nullptr);
  }
}

void RunControl::Core::carry_out_actions() {
  // Answers may come from inside; what the machine wants then is in the next turn's.
  const control::Actions taken = std::exchange(actions, {});
  for (const control::Event& event : taken.events) note(event.level, event.text);
  for (const control::Order& order : taken.orders) send_order(order);
}

void RunControl::Core::send_order(const control::Order& order) {
  const control::Member& member = machine->members()[order.member];
  v1::BusMessage message;
  v1::Order& sent = *message.mutable_order();
  sent.set_id(order.id);
  sent.set_command(std::string(control::name(order.command)));
  sent.set_run(order.run.value);
  sent.set_epoch(order.epoch);
  sent.set_reason(order.reason);
  if (order.command == control::Command::configure) {
    sent.set_farm_digest(digest);
    for (const std::string& one : sets) sent.add_sets(one);
  }
  if (order.command == control::Command::start) {
    sent.set_claim(node::read_claim(out, order.run).value_or(0));
    for (const std::string& one : run_sets) sent.add_sets(one);
    if (member.plan.role == Role::supervisor) {
      // Of a run that was on: its nodes look for it where it was.
      if (kept && kept->run() == order.run.value) sent.set_listen(supervisor);
      for (const std::string& one : order.absent) sent.add_absent(one);
    } else {
      sent.set_supervisor(supervisor);
    }
  }
  hub->send(processes[order.member].client, message);
}

void RunControl::Core::note(control::Level level, const std::string& said) {
  const std::string text = clean_text(said, kEventBytesMax);  // joins of strangers are in it, and last words
  constexpr const char* kNames[] = {"info", "warning", "error"};
  const auto place = static_cast<std::size_t>(level);
  v1::FarmView::Line& line = events.emplace_back();
  line.set_utc_ns(utc_now());
  line.set_level(kNames[place]);
  line.set_text(text);
  if (events.size() > kEventsKept) events.pop_front();
  if (level == control::Level::info) spdlog::info("{}", text);
  if (level == control::Level::warning) spdlog::warn("{}", text);
  if (level == control::Level::error) spdlog::error("{}", text);
  const std::string bytes = line.SerializeAsString();
  if (web) web->log("run-control", line);
  hub->publish("log.run-control", {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void RunControl::Core::keep_memory() {
  const control::Remembered now = machine->remembered();
  if (std::exchange(logged_run, now.run.value) != now.run.value) telemetry::set_log_run(now.run.value);
  v1::ControlMemory memory;
  memory.set_goal(std::string(control::name(now.goal)));
  memory.set_run(now.run.value);
  memory.set_epoch(now.epoch);
  memory.set_run_open(now.run_open);
  for (const std::string& one : now.excluded) memory.add_excluded(one);
  for (const std::string& one : sets) memory.add_sets(one);
  for (const std::string& one : run_sets) memory.add_run_sets(one);
  memory.set_supervisor(supervisor);
  memory.set_next_by(next_by);
  memory.set_run_begin_utc_ns(run_begin_utc);
  if (kept && kept->SerializeAsString() == memory.SerializeAsString()) return;
  const std::string failure =
      settings.one_run ? std::string() : write_memory(out + "/run-control.state", memory);
  if (!failure.empty() && failure != memory_failure) note(control::Level::error, failure);
  memory_failure = failure;
  if (failure.empty()) kept = memory;
}

v1::FarmView RunControl::Core::view() {
  v1::FarmView view;
  view.set_farm(farm.farm());
  view.set_one_run(settings.one_run);
  view.set_state(std::string(control::name(machine->state())));
  if (const auto command = machine->under_way()) view.set_under_way(std::string(control::name(*command)));
  view.set_reason(machine->reason());
  for (const control::Finding& finding : health()) {
    v1::FarmView::Finding& told = *view.add_health();
    told.set_gravity(std::string(control::name(finding.gravity)));
    told.set_word(finding.word);
    told.set_reason(finding.reason);
  }
  view.set_run(machine->run().value);
  view.set_epoch(machine->epoch());
  for (const std::string& one : sets) view.add_sets(one);
  view.set_utc_ns(utc_now());
  const bool is_on =
      machine->state() == control::State::running || machine->state() == control::State::paused;
  view.set_run_begin_utc_ns(is_on ? run_begin_utc : 0);
  for (std::size_t i = 0; i < processes.size(); ++i) add_node(i, *view.add_nodes());
  for (const auto& line : events) *view.add_events() = line;
  for (const auto& run : history->runs()) *view.add_runs() = run;
  const bus::HubCounters counters = hub->counters();
  auto& counts = *view.mutable_counters();
  counts["bus.received"] = counters.received;
  counts["bus.published"] = counters.published;
  counts["bus.dropped"] = counters.dropped;
  counts["bus.malformed"] = counters.malformed;
  counts["bus.not_allowed"] = counters.not_allowed;
  counts["bus.refused_key"] = counters.refused_key;
  counts["bus.refused_handshake"] = counters.refused_handshake;
  counts["bus.refused_join"] = refused_joins;
  return view;
}

void RunControl::Core::add_node(std::size_t index, v1::FarmView::Node& out_node) const {
  const control::Member& member = machine->members()[index];
  const Process& process = processes[index];
  out_node.set_name(member.plan.name);
  out_node.set_role(std::string(name(member.plan.role)));
  out_node.set_duty(std::string(control::name(member.plan.duty)));
  out_node.set_live(member.live);
  out_node.set_inactive(member.inactive);
  out_node.set_excluded(member.excluded);
  v1::MemberState& state = *out_node.mutable_state();
  state.set_state(std::string(control::name(member.told.state)));
  state.set_run(member.told.run.value);
  state.set_epoch(member.told.epoch);
  state.set_begun(member.told.begun);
  state.set_ended(member.told.ended);
  state.set_reason(member.told.reason);
  out_node.set_host(process.host);
  out_node.set_pid(process.pid);
  out_node.set_metrics(process.metrics);
  out_node.set_software(process.software);
  out_node.set_silent_ns(process.client.empty() ? -1 : now_ns - member.heard_ns);
  *out_node.mutable_report() = process.report;
}

RunControl::RunControl(RunControlSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
RunControl::~RunControl() = default;

void RunControl::turn(DurationNs wait) { core_->turn(wait); }
v1::Reply RunControl::request(const v1::Request& request) {
  return core_->request(request, security::BusRole::operator_);
}
v1::FarmView RunControl::view() { return core_->view(); }
bool RunControl::finished() const { return core_->machine->all_gone(); }
const bus::Hub& RunControl::hub() const { return *core_->hub; }
std::string RunControl::page() const {
  if (!core_->web) return {};
  const ports::Endpoint& at = core_->web->endpoint();
  return fmt::format("http://{}:{}/", at.host, at.port);
}

}  // namespace weir::run_control
