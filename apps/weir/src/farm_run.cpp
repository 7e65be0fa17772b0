#include <weir/node/setup.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/run/log_tail.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

namespace weir::run {
namespace {

constexpr DurationNs kReconnect = 50 * kMillisecond;
constexpr DurationNs kPortPatience = 10 * kSecond;  // for run control's line; for the supervisor's connection
constexpr DurationNs kSilenceMax = 60 * kSecond;    // of the supervisor, which reports every second or so
constexpr DurationNs kAccountPatience = 2 * kSecond;      // for what the supervisor sent before it ended
constexpr DurationNs kToldPatience = 200 * kMillisecond;  // for why a process has ended in order
constexpr DurationNs kBeginPatience = 3 * kSecond;  // for word of a run that was asked for and may have begun
constexpr DurationNs kRoleEmptyMax = kSecond;       // nodes that end one after another at the end are no loss
constexpr DurationNs kSettledPatience = 10 * kSecond;  // for processes to end by themselves

const char* program_of(Role role) {
  switch (role) {
    case Role::supervisor:
      return "weir-supervisor";
    case Role::readout:
      return "weir-readout";
    case Role::dcm:
      return "weir-dcm";
    case Role::writer:
      return "weir-writer";
    default:
      return "";
  }
}

const char* person_name(Role role) {
  if (role == Role::dcm) return "DCM";
  return role == Role::writer ? "writer" : role == Role::readout ? "readout" : "supervisor";
}

RestartSettings restart_settings(const v1::Farm& farm) {
  RestartSettings settings;
  settings.on_failure = farm.run().restart() == v1::RunSettings::RESTART_ON_FAILURE;
  settings.restarts_max = farm.run().restarts_max();
  return settings;
}

const char* signal_name(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

std::uint64_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : size;
}

}  // namespace

FarmRun::FarmRun(const v1::Farm& farm, const config::FarmPlan& plan, FarmRunSettings settings,
                 FarmRunView view)
    : farm_(farm),
      settings_(std::move(settings)),
      view_(std::move(view)),
      loop_(node::socket_policy(farm)),
      leader_(RunNumber(farm.run().number())) {
  // The order of starting: a supervisor to report to, writers to store, readouts with their ports, DCMs.
  for (const Role role : {Role::supervisor, Role::writer, Role::readout, Role::dcm}) {
    for (const config::NodePlan* node : plan.of_role(role)) {
      if (node->masked) continue;
      Node& added = nodes_.emplace_back(Restarts(restart_settings(farm)));
      added.plan = node;
      added.state = "starting";
    }
  }
  if (nodes_.empty() || nodes_.front().plan->role != Role::supervisor) {
    throw std::runtime_error("the farm has no supervisor");
  }
  identity_.role = Role::control;
  identity_.name = "weir-run";
  identity_.run = RunNumber(farm.run().number());
  identity_.farm = farm.farm();
  identity_.incarnation = Incarnation(1);
  limits_.authenticator = node::make_authenticator(farm);
  limits_.frame_bytes_max = static_cast<std::uint32_t>(farm.network().frame_bytes_max());
}

FarmRunResult FarmRun::run() {
  loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGCHLD}, [this](int signal) {
    if (signal != SIGCHLD) on_signal(signal);
  });
  now_ns_ = heard_ns_ = loop_.now_ns();
  start_control();
  while (has_child() || (stage_ != Stage::settled && stage_ != Stage::ending)) {
    loop_.run_once([this](TimeNs now_ns) { pass(now_ns); }, kTurn);
  }
  end_control();
  return std::move(result_);
}

void FarmRun::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  if (view_.pass) view_.pass(now_ns);
  reap(now_ns);
  find_control();
  talk_to_control();
  find_supervisor();
  if (link_) link_->tick(loop_, now_ns);
  restart_due(now_ns);
  watch_roles(now_ns);
  watch_supervisor(now_ns);
  hurry(now_ns);
}

// ---- processes

std::string FarmRun::log_file(const Node& node) const {
  return settings_.log_folder + "/" + node.plan->name + ".log";
}

void FarmRun::start(Node& node) {
  ChildSettings child;
  child.program = settings_.program_folder + "/" + program_of(node.plan->role);
  child.arguments = {"--farm",    settings_.farm_file, "--name",   node.plan->name,
                     "--one-run", "--control",         control_at_};
  if (!settings_.log_level.empty()) {
    child.arguments.insert(child.arguments.end(), {"--log-level", settings_.log_level});
  }
  if (const auto place = settings_.places.find(node.plan->name); place != settings_.places.end()) {
    const NodePlace& there = place->second;
    child.network = there.network;
    child.arguments.insert(child.arguments.end(), there.arguments.begin(), there.arguments.end());
    if (!there.address.empty() && !node.plan->listen.empty()) {
      child.arguments.insert(child.arguments.end(), {"--listen", there.address + ":0"});
    }
  }
  child.log_file = log_file(node);
  child.append_log = node.starts > 0;
  child.read_output = node.plan->role == Role::supervisor;
  node.log_from = child.append_log ? size_of(child.log_file) : 0;
  ++node.starts;
  auto started = Child::start(child);
  if (!started) return give_up(node.plan->name + ": " + started.error());
  node.child = std::move(*started);
  node.state = "starting";
  if (view_.started) view_.started(node.plan->name, node.child.pid());
}

void FarmRun::start_nodes() {
  stage_ = Stage::supervisor;
  heard_ns_ = now_ns_;
  for (std::size_t i = 0; i < nodes_.size() && stage_ == Stage::supervisor; ++i) start(nodes_[i]);
}

bool FarmRun::has_child() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.child.running(); });
}

void FarmRun::signal_all(int signal) {
  for (const Node& node : nodes_) node.child.send_signal(signal);
}

std::string FarmRun::story(const Node& node, const ProcessEnd& end) const {
  const std::string reason = last_error_of_file(log_file(node), node.log_from);
  return fmt::format("{} ended with {}{}{}", node.plan->name, describe(end), reason.empty() ? "" : ": ",
                     reason);
}

void FarmRun::reap(TimeNs now_ns) {
  for (Node& node : nodes_) {
    if (const auto end = node.child.poll()) ended(node, *end, now_ns);
  }
  if (const auto end = control_.poll()) control_ended(*end);
}

void FarmRun::ended(Node& node, const ProcessEnd& end, TimeNs now_ns) {
  result_.processes.push_back({node.plan->name, std::string(name(node.plan->role)), end});
  node.state = end.well() ? "ended" : "dead: " + describe(end);
  if (stage_ == Stage::ending) return;
  // The run may have begun although the supervisor's first word of it is still under way.
  const bool begins = leader_.started() && stage_ != Stage::settled && &node != &supervisor();
  if (stage_ == Stage::running || begins) {
    node.end = end;
    node.ended_ns = now_ns;
    if (end.well()) leader_.look_again();
    return judge_end(node, now_ns);
  }
  if (end.well()) {
    if (&node == &supervisor() && stage_ != Stage::settled) supervisor_ended_ns_ = now_ns;
    return;
  }
  const std::string what = story(node, end);
  if (stage_ != Stage::settled) return give_up(what);
  result_.faults.push_back(what);
}

// Without run control, or when the farm has left the run, nobody leads a process into it.
bool FarmRun::is_led() const { return control_.running() && leader_.lost().empty(); }

void FarmRun::judge_end(Node& node, TimeNs now_ns) {
  if (stage_ != Stage::running) {
    if (stage_ != Stage::settled && now_ns - node.ended_ns < kBeginPatience) return;
    const ProcessEnd end = *std::exchange(node.end, {});
    if (stage_ != Stage::settled) return give_up(story(node, end));
    if (!end.well()) result_.faults.push_back(story(node, end));
    return;
  }
  EndFacts facts;
  facts.supervisor = &node == &supervisor();
  facts.well = node.end->well();
  facts.run_over = run_over_;
  facts.taken_out = leader_.taken_out(node.plan->name);
  facts.led = is_led();
  facts.looked = now_ns - node.ended_ns >= kToldPatience &&
                 (!facts.led || !leader_.led() || leader_.looked_ns() >= node.ended_ns);
  facts.journal = farm_.supervisor().journal();
  const EndVerdict verdict = verdict_of(facts);
  if (verdict == EndVerdict::look) return;
  const ProcessEnd end = *std::exchange(node.end, {});
  if (verdict == EndVerdict::told) {
    if (facts.supervisor) supervisor_ended_ns_ = now_ns;
    return;
  }
  const std::string what = story(node, end);
  result_.faults.push_back(what);
  if (verdict == EndVerdict::start_again) return start_again(node, what, now_ns);
  if (verdict == EndVerdict::run_fails) return give_up(what);
  view_.say(what + (run_over_ ? "" : ": stays away"));
}

void FarmRun::start_again(Node& node, const std::string& what, TimeNs now_ns) {
  node.restart_at_ns = node.restarts.after_end(now_ns);
  if (!node.restart_at_ns) {
    if (&node == &supervisor()) return give_up(what);
    return view_.say(what + ": stays away");
  }
  node.state += ", starts again";
  view_.say(
      fmt::format("{}: starts again ({} of {})", what, node.restarts.count(), farm_.run().restarts_max()));
}

void FarmRun::restart_due(TimeNs now_ns) {
  for (Node& node : nodes_) {
    if (node.end && stage_ != Stage::ending) judge_end(node, now_ns);
    if (!node.restart_at_ns) continue;
    if (stage_ != Stage::running || (run_over_ && &node != &supervisor())) {
      node.restart_at_ns.reset();
    } else if (now_ns >= *node.restart_at_ns) {
      node.restart_at_ns.reset();
      start(node);
    }
  }
}

// ---- the supervisor

void FarmRun::find_supervisor() {
  if (stage_ != Stage::supervisor) return;
  supervisor_output_ += supervisor().child.take_output();
  const std::size_t end = supervisor_output_.find('\n');
  if (end == supervisor_output_.npos) return;
  const std::string line = supervisor_output_.substr(0, end);
  const std::size_t nodes = line.find(' ');
  const std::size_t triggers = line.find(" triggers ");
  if (!line.starts_with("supervisor ") || triggers == line.npos) {
    return give_up("the supervisor does not say where it listens, but '" + line + "'");
  }
  supervisor_at_ = node::parse_endpoint(line.substr(nodes + 1, triggers - nodes - 1));
  if (supervisor_at_.host == "0.0.0.0") supervisor_at_.host = "127.0.0.1";
  if (supervisor_at_.host == "::") supervisor_at_.host = "::1";
  const std::string offers = line.substr(triggers + std::string(" triggers ").size());
  if (!offers.ends_with(":0")) view_.say("takes triggers at " + offers);
  link_.emplace(identity_, static_cast<messages::PeerHandler&>(*this), limits_, peer_counters_,
                supervisor_at_, kReconnect);
  heard_ns_ = now_ns_;  // however long the others took before it
  stage_ = Stage::connecting;
}

void FarmRun::on_ready(messages::Peer&) {
  heard_ns_ = now_ns_;
  if (stage_ == Stage::connecting) stage_ = Stage::gathering;
  if (std::exchange(stop_sent_, false)) ask_supervisor_to_stop();
}

void FarmRun::on_gone(messages::Peer&, std::string_view why) { last_words_ = why; }

Expected<void, wire::WireError> FarmRun::on_control(messages::Peer&, const v1::Control& message) {
  heard_ns_ = now_ns_;
  if (message.has_status()) {
    const std::string& state = message.status().state();
    if (stage_ == Stage::gathering && state != "gathering") {
      stage_ = Stage::running;
      if (view_.begun) view_.begun(static_cast<DurationNs>(message.status().run_ns()));
    }
    run_over_ = run_over_ || state == "reporting" || state == "done";
    if (run_over_ || state == "draining") say_it_ends();
    result_.last_status = message.status();
    result_.steady.take(message.status(), now_ns_);
    show(message.status());
    return {};
  }
  if (!message.has_summary()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  say_it_ends();
  result_.account = message.summary();
  run_over_ = true;
  v1::Control taken;
  taken.mutable_command()->set_kind(v1::Command::SHUTDOWN);
  link_->peer().send(taken);
  if (stage_ != Stage::ending) {
    stage_ = Stage::settled;
    terminate_at_ns_ = now_ns_ + kSettledPatience;
  }
  link_->stop();
  return {};
}

void FarmRun::watch_supervisor(TimeNs now_ns) {
  if (stage_ == Stage::settled || stage_ == Stage::ending) return;
  if (supervisor_ended_ns_ != 0) {
    if (now_ns - supervisor_ended_ns_ > kAccountPatience)
      give_up("the supervisor ended without its account of the run");
    return;
  }
  const bool known = stage_ == Stage::gathering || stage_ == Stage::running;
  const v1::ControlSettings& control = farm_.control();
  const auto gathering = static_cast<DurationNs>((control.init_s() + 2 * control.order_s()) * kSecond);
  const DurationNs unknown = kPortPatience + (stage_ == Stage::supervisor ? gathering : 0);
  if (now_ns - heard_ns_ < (known ? kSilenceMax : unknown)) return;
  if (stage_ == Stage::control) return give_up("run control says nothing");
  give_up(fmt::format("the supervisor says nothing for {} s{}{}", (now_ns - heard_ns_) / kSecond,
                      last_words_.empty() ? "" : ": ", last_words_));
}

// ---- the end

void FarmRun::watch_roles(TimeNs now_ns) {
  if (stage_ != Stage::running || run_over_ || !result_.failure.empty()) return;
  for (const Role role : {Role::dcm, Role::writer}) {
    bool planned = false;
    bool present = false;
    for (const Node& node : nodes_) {
      if (node.plan->role != role) continue;
      planned = true;
      present = present || node.child.running() || node.restart_at_ns || node.end;
    }
    if (!planned || present) continue;
    if (role_empty_ns_ == 0) role_empty_ns_ = now_ns;
    if (now_ns - role_empty_ns_ < kRoleEmptyMax) return;
    result_.failure = fmt::format("no {} is left", person_name(role));
    if (!result_.faults.empty()) result_.failure += ": " + result_.faults.back();
    return ask_to_stop(result_.failure);
  }
  role_empty_ns_ = 0;
}

void FarmRun::on_signal(int signal) {
  ++signals_;
  if (signals_ > 1) {
    give_up(std::string("killed by the second ") + signal_name(signal));
    kill_at_ns_ = now_ns_;
  } else if (stage_ == Stage::running) {
    view_.say("stops: waits for the slices in flight (Ctrl-C again kills)");
    ask_to_stop(signal_name(signal));
  } else if (leader_.started() && stage_ != Stage::settled) {
    ask_to_stop(signal_name(signal));  // the run may just have begun; the supervisor knows
  } else if (stage_ != Stage::settled) {
    give_up(std::string("stopped before the run began: ") + signal_name(signal));
  }
}

void FarmRun::ask_to_stop(const std::string& reason) {
  say_it_ends();
  stop_reason_ = reason;
  if (!control_.running() || !leader_.led()) return ask_supervisor_to_stop();
  leader_.stop(reason);
}

// When run control cannot.
void FarmRun::ask_supervisor_to_stop() {
  stop_sent_ = true;
  if (!link_ || !link_->ready()) return;  // on_ready() does it again
  v1::Control message;
  message.mutable_command()->set_kind(v1::Command::STOP);
  message.mutable_command()->set_reason(stop_reason_);
  link_->peer().send(message);
}

void FarmRun::give_up(const std::string& reason) {
  if (stage_ == Stage::ending) return;
  say_it_ends();  // a process that stands still does not end
  if (result_.failure.empty()) result_.failure = reason;
  stage_ = Stage::ending;
  if (link_) link_->stop();
  for (Node& node : nodes_) node.restart_at_ns.reset();
  signal_all(SIGTERM);
  kill_at_ns_ = now_ns_ + kKillPatience;
}

void FarmRun::hurry(TimeNs now_ns) {
  if (stage_ == Stage::settled && terminate_at_ns_ != 0 && now_ns >= terminate_at_ns_) {
    for (const Node& node : nodes_) {
      if (node.child.running()) result_.faults.push_back(node.plan->name + " did not end by itself");
    }
    terminate_at_ns_ = 0;
    kill_at_ns_ = now_ns + kKillPatience;
    signal_all(SIGTERM);
  }
  if (kill_at_ns_ != 0 && now_ns >= kill_at_ns_) signal_all(SIGKILL);
}

}  // namespace weir::run
