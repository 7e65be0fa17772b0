#include <weir/base/assert.hpp>
#include <weir/base/transitions.hpp>
#include <weir/config/durations.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/hooks/hook_runner.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/setup.hpp>
#include <weir/run/farm_run.hpp>
#include <weir/transport/free_ports.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace weir::run {
namespace {

constexpr DurationNs kTurn = 20 * kMillisecond;
constexpr int kTerminated = 128 + SIGTERM;            // run control's status after that signal
constexpr DurationNs kPortPatience = 10 * kSecond;    // for run control's first line
constexpr DurationNs kSilenceMax = 60 * kSecond;      // for the supervisor, which reports about once a second
constexpr DurationNs kAccountPatience = 2 * kSecond;  // for the account of a supervisor that has ended
constexpr DurationNs kToldPatience = 200 * kMillisecond;  // for the reason of an orderly end
constexpr DurationNs kBeginPatience = 3 * kSecond;  // for news of a run that was requested and may have begun
constexpr DurationNs kStoryPatience = kSecond;      // for the end of the process at fault
constexpr DurationNs kBoundSlack = 5 * kSecond;     // for the messages after run control's own limit
constexpr DurationNs kRoleEmptyMax =
    kSecond;  // nodes that end shortly after each other at the run's end are not lost

const char* person_name(Role role) { return role == Role::dcm ? "DCM" : "writer"; }

const char* signal_name(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

launch::FarmNodesSettings nodes_settings(const FarmRunSettings& settings,
                                         const config::PlannedFarm& planned) {
  launch::FarmNodesSettings nodes{settings.program_folder, settings.farm_file, settings.log_folder,
                                  settings.log_level, settings.places};
  nodes.log_files_kept = planned.farm.log().files_kept();
  nodes.restarts.on_failure = planned.farm.run().restart() == v1::RunSettings::RESTART_ON_FAILURE;
  nodes.restarts.restarts_max = planned.farm.run().restarts_max();
  return nodes;
}

launch::ControlChildSettings control_settings(const FarmRunSettings& settings) {
  launch::ControlChildSettings control;
  control.program_folder = settings.program_folder;
  control.farm_file = settings.farm_file;
  control.listen = settings.listen.empty() ? launch::kAnyPort : settings.listen;
  control.page = settings.page;
  control.log_level = settings.log_level;
  control.log_file = settings.log_folder + "/run-control.log";
  control.network = settings.control_network;
  if (!settings.control_host.empty()) {
    control.more = {"--network", fmt::format("/proc/{}/task/{}/ns/net", ::getpid(), ::gettid()),
                    "--network-host", settings.control_host};
  }
  return control;
}

// Run control's time for a stop, and twice for the resets of the processes that hold it up.
DurationNs stop_bound(const config::PlannedFarm& planned) {
  const DurationNs order = config::from_s(planned.farm.control().order_s());
  return config::stop_limit(planned.farm) + 2 * order + kBoundSlack;
}

// From run control's SIGTERM to its SIGKILL: it waits for its hooks.
DurationNs control_patience(const config::PlannedFarm& planned) {
  const bool has_hooks = planned.farm.control().hooks_size() > 0;
  return Ending::kTermPatience + (has_hooks ? hooks::HookRunner::kLastWait + hooks::HookRunner::kGrace : 0);
}

std::string memory_file(const config::PlannedFarm& planned) {
  const v1::RunSettings& run = planned.farm.run();
  return fmt::format("{}/run-{:06}-control.state", run.out(), run.number());
}

}  // namespace

FarmRun::FarmRun(const config::PlannedFarm& planned, FarmRunSettings settings, FarmRunView view)
    : out_(planned.farm.run().out()),
      restarts_max_(planned.farm.run().restarts_max()),
      journal_(planned.farm.supervisor().journal()),
      view_(std::move(view)),
      loop_(node::socket_policy(planned.farm)),
      nodes_(planned.plan, nodes_settings(settings, planned), view_.started),
      control_({control_settings(settings), memory_file(planned), planned.farm.control().keys(),
                settings.control_host, settings.listen_may_move},
               [this] { loop_.wake(); }),
      leader_(RunNumber(planned.farm.run().number()), settings.fields),
      news_(settings.settling_ns),
      stop_bound_(stop_bound(planned)),
      control_patience_(control_patience(planned)) {}

FarmRunResult FarmRun::run() {
  loop_.on_signals({SIGINT, SIGTERM, SIGHUP, SIGCHLD}, [this](int signal) {
    if (signal != SIGCHLD) on_signal(signal);
  });
  now_ns_ = since_ns_ = loop_.now_ns();
  if (const std::string error = control_.start(); !error.empty()) give_up(error);
  while (nodes_.is_any_there() || (stage_ != Stage::settled && stage_ != Stage::ending)) {
    loop_.run_once([this](TimeNs now_ns) { pass(now_ns); }, kTurn);
  }
  end_control();
  result_.last_status = news_.status();
  result_.account = news_.account();
  result_.steady = news_.steady();
  return std::move(result_);
}

void FarmRun::enter(Stage stage) {
  static constexpr Transitions kAllowed({Transition<Stage>{Stage::control, Stage::leading},
                                         {Stage::control, Stage::ending},
                                         {Stage::leading, Stage::running},
                                         {Stage::leading, Stage::ending},
                                         {Stage::running, Stage::over},
                                         {Stage::running, Stage::settled},
                                         {Stage::running, Stage::ending},
                                         {Stage::over, Stage::settled},
                                         {Stage::over, Stage::ending},
                                         {Stage::settled, Stage::ending}});
  WEIR_ASSERT(kAllowed.allow(stage_, stage));
  stage_ = stage;
}

void FarmRun::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  if (const std::string pause = pauses_.look(); !pause.empty()) view_.say("weir run " + pause);
  if (view_.pass) view_.pass(now_ns);
  nodes_.reap(now_ns, [this](launch::FarmNodes::Node& node) { ended(node); });
  if (const auto end = control_.poll()) control_ended(*end);
  find_control();
  talk_to_control();
  watch_control();
  tell_triggers();
  start_due();
  watch_roles();
  watch_silence();
  hurry();
}

// ---- run control

void FarmRun::find_control() {
  if (stage_ != Stage::control) return;
  const auto place = control_.found();
  if (!place) return give_up(place.error());
  if (!*place) return;
  const std::string& at = (*place)->at;
  view_.say("run control at " + at + ": weir ctl, weir top and weir tap take --connect " + at);
  if (!(*place)->page.empty())
    view_.say("page http://" + (*place)->page + "/  its buttons want the token in " + out_ + "/page-token");
  enter(Stage::leading);
  since_ns_ = now_ns_;
  if (const std::string error = nodes_.start(control_.asked_at()); !error.empty()) give_up(error);
}

void FarmRun::talk_to_control() {
  if (stage_ == Stage::ending) return;
  for (const v1::BusMessage& message : control_.heard()) {
    const bool was_led = leader_.led();
    if (message.has_reply()) leader_.take(message.reply(), now_ns_);
    if (leader_.led() && !was_led) since_ns_ = now_ns_;
    if (message.has_run_over()) news_.take(message.run_over());
    follow_news(message.has_reply() && news_.take(message.reply().view()));
  }
  if (control_.state() != launch::RunControlChild::State::there) return;
  if (const auto request = leader_.next(now_ns_)) control_.ask(*request);
}

void FarmRun::follow_news(bool fresh) {
  if (stage_ == Stage::ending || stage_ == Stage::settled) return;
  const RunNews::Phase phase = news_.phase();
  if (stage_ == Stage::leading && phase != RunNews::Phase::gathering) {
    enter(Stage::running);
    if (view_.made_of) view_.made_of(news_.identity());
    if (view_.begun) view_.begun(news_.run_ns(now_ns_));
  }
  if (phase == RunNews::Phase::over && stage_ != Stage::over) enter(Stage::over);
  if (phase == RunNews::Phase::draining || phase == RunNews::Phase::over) say_it_ends();
  if (fresh) show();
  if (!news_.account()) return;
  enter(Stage::settled);
  nodes_.stay_away();
  ending_.settle(now_ns_);
}

void FarmRun::watch_control() {
  if (stage_ == Stage::settled || stage_ == Stage::ending) return;
  if (leader_.led() && leader_.is_silent(now_ns_) &&
      control_.state() == launch::RunControlChild::State::there) {
    view_.say("run control does not answer: killing it");
    leader_.control_again();
    return control_.send_signal(SIGKILL);
  }
  if (stage_ == Stage::running && !leader_.lost().empty()) return give_up(leader_.lost());
  if (leader_.failure().empty() || is_on()) return;
  // The process at fault ends too, and its log has the reason.
  if (lead_failed_ns_ == 0) lead_failed_ns_ = now_ns_;
  if (now_ns_ - lead_failed_ns_ <= kStoryPatience) return;
  const std::string no_port = transport::no_port_left();
  give_up(leader_.failure() + (no_port.empty() ? "" : "; " + no_port));
}

void FarmRun::control_ended(const launch::ProcessEnd& end) {
  if (stage_ == Stage::control && control_.moves()) {
    view_.say("control.listen of the farm file is not used: " + control_.story(end));
    since_ns_ = now_ns_;
    if (const std::string error = control_.start(); !error.empty()) give_up(error);
    return;
  }
  result_.processes.push_back({"run-control", "control", end});
  if (stage_ == Stage::ending || (stage_ == Stage::settled && end.well())) return;
  const std::string what = control_.story(end);
  if (!is_on() && stage_ != Stage::settled && !leader_.led()) return give_up(what);
  result_.faults.push_back(what);
  if (stage_ == Stage::settled) return;
  if (!control_.start_again(now_ns_)) return give_up(what);
  view_.say(what + ": the run continues, and run control is restarted");
}

void FarmRun::end_control() {
  control_.let_go();
  control_.send_signal(SIGTERM);
  const TimeNs until = loop_.now_ns() + control_patience_;
  while (control_.running()) {
    if (loop_.now_ns() >= until) control_.send_signal(SIGKILL);
    loop_.run_once(
        [this](TimeNs) {
          auto end = control_.poll();
          if (!end) return;
          if (end->status == kTerminated) end->status = 0;  // as it was told to
          control_ended(*end);
        },
        kTurn);
  }
}

// ---- processes

void FarmRun::ended(launch::FarmNodes::Node& node) {
  const auto& processes = result_.processes;
  const bool still_in_use = node.end.status == node::kAddressInUse && !processes.empty() &&
                            processes.back().name == node.plan->name &&
                            processes.back().end.status == node::kAddressInUse;
  if (!still_in_use)
    result_.processes.push_back({node.plan->name, std::string(name(node.plan->role)), node.end});
  // The run may have begun although the supervisor's first report of it has not arrived.
  const bool begins = leader_.started() && stage_ == Stage::leading && &node != &nodes_.supervisor();
  if (is_on() || begins) {
    if (node.end.well()) leader_.look_again();
    return judge_end(node);
  }
  node.life = launch::FarmNodes::Life::away;
  if (stage_ == Stage::ending) return;
  if (node.end.well()) {
    if (&node == &nodes_.supervisor() && stage_ != Stage::settled) supervisor_ended_ns_ = now_ns_;
    return;
  }
  const std::string what = nodes_.story(node);
  if (stage_ != Stage::settled) return give_up(what);
  result_.faults.push_back(what);
}

EndFacts FarmRun::facts_of(const launch::FarmNodes::Node& node) const {
  EndFacts facts;
  facts.supervisor = node.plan->role == Role::supervisor;
  facts.well = node.end.well();
  facts.run_over = stage_ == Stage::over;
  facts.taken_out = leader_.was_taken_out(node.plan->name);
  facts.led = leader_.lost().empty();
  facts.looked = now_ns_ - node.at_ns >= kToldPatience &&
                 (!facts.led || !leader_.led() || leader_.looked_ns() >= node.at_ns);
  facts.journal = journal_;
  return facts;
}

void FarmRun::judge_end(launch::FarmNodes::Node& node) {
  if (!is_on()) {
    if (stage_ != Stage::settled && now_ns_ - node.at_ns < kBeginPatience) return;
    node.life = launch::FarmNodes::Life::away;
    if (stage_ != Stage::settled) return give_up(nodes_.story(node));
    if (!node.end.well()) result_.faults.push_back(nodes_.story(node));
    return;
  }
  const EndFacts facts = facts_of(node);
  const EndVerdict verdict = verdict_of(facts);
  if (verdict == EndVerdict::look) return;
  node.life = launch::FarmNodes::Life::away;
  if (verdict == EndVerdict::told) {
    if (facts.supervisor) {
      supervisor_ended_ns_ = now_ns_;
    } else if (!facts.run_over) {
      node.life = launch::FarmNodes::Life::removed;
    }
    return;
  }
  const std::string what = nodes_.story(node);
  // An address that stays in use is retried without repeating the fault.
  const bool again = !result_.faults.empty() && result_.faults.back() == what;
  if (!again) result_.faults.push_back(what);
  if (verdict == EndVerdict::run_fails) return give_up(what);
  if (verdict == EndVerdict::stays_away) return view_.say(what + (facts.run_over ? "" : ": stays away"));
  if (nodes_.start_again(node, now_ns_)) {
    leader_.starts_again(node.plan->name);
    if (!again)
      view_.say(fmt::format("{}: restarting ({} of {})", what, node.restarts.count(), restarts_max_));
  } else if (facts.supervisor) {
    give_up(what);
  } else {
    view_.say(what + ": stays away");
  }
}

void FarmRun::start_due() {
  if (stage_ == Stage::ending) return;
  for (launch::FarmNodes::Node& node : nodes_.all()) {
    if (node.life == launch::FarmNodes::Life::ended) judge_end(node);
    if (node.life == launch::FarmNodes::Life::removed && !leader_.taken_out(node.plan->name)) {
      leader_.starts_again(node.plan->name);
      launch::FarmNodes::add_again(node, now_ns_);
    }
  }
  if (stage_ == Stage::settled || stage_ == Stage::ending) return;
  const auto control = control_.start_due(now_ns_);
  if (!control) return give_up(control.error());
  if (*control) leader_.control_again();
  if (stage_ == Stage::over) nodes_.stay_away(true);
  if (!is_on()) return;
  if (const std::string error = nodes_.start_due(now_ns_); !error.empty()) give_up(error);
}

// The supervisor's line has its address for external triggers.
void FarmRun::tell_triggers() {
  if (stage_ != Stage::leading && !is_on()) return;
  supervisor_output_ += nodes_.take_supervisor_output();
  const std::size_t end = supervisor_output_.find('\n');
  if (end == supervisor_output_.npos) return;
  std::istringstream line(std::exchange(supervisor_output_, {}).substr(0, end));
  std::map<std::string, std::string> places;  // "triggers", "text" and their addresses
  for (std::string name, at; line >> name >> at;) places[name] = at;
  const auto tell = [&](const char* name, const char* what) {
    const auto place = places.find(name);
    if (place != places.end() && !place->second.ends_with(":0"))
      view_.say(std::string("takes ") + what + " at " + place->second);
  };
  tell("triggers", "triggers");
  tell("text", "triggers as lines of text");
}

// ---- the run's end

void FarmRun::watch_silence() {
  if (stage_ == Stage::settled || stage_ == Stage::ending) return;
  if (supervisor_ended_ns_ != 0) {
    if (now_ns_ - supervisor_ended_ns_ > kAccountPatience)
      give_up("the supervisor ended without its account of the run");
    return;
  }
  if (stage_ == Stage::control && now_ns_ - since_ns_ >= kPortPatience)
    return give_up("run control sent no address");
  if (stop_asked_ns_ != 0 && !is_on() && now_ns_ - stop_asked_ns_ >= kBeginPatience)
    return give_up("stopped before the run began: " + stop_asked_);
  if (stop_until_ns_ != 0 && now_ns_ >= stop_until_ns_)
    return give_up(
        fmt::format("the run did not end within {} s of the order to stop", stop_bound_ / kSecond));
  if (!leader_.led()) return;  // run control has its own time limits
  const DurationNs silence = now_ns_ - std::max(since_ns_, news_.told_ns());
  if (silence >= kSilenceMax) give_up(fmt::format("no report of the supervisor for {} s", silence / kSecond));
}

void FarmRun::watch_roles() {
  if (stage_ != Stage::running || !result_.failure.empty()) return;
  const auto role = nodes_.role_without_any();
  if (!role) {
    role_empty_ns_ = 0;
    return;
  }
  if (role_empty_ns_ == 0) role_empty_ns_ = now_ns_;
  if (now_ns_ - role_empty_ns_ < kRoleEmptyMax) return;
  result_.failure = fmt::format("no {} is left", person_name(*role));
  if (!result_.faults.empty()) result_.failure += ": " + result_.faults.back();
  ask_to_stop(result_.failure);
}

void FarmRun::on_signal(int signal) {
  ++signals_;
  if (signals_ > 1) {
    give_up(std::string("killed by the second ") + signal_name(signal));
    ending_.kill();
  } else if (is_on()) {
    view_.say("stopping: waiting for the slices in flight (Ctrl-C again kills)");
    ask_to_stop(signal_name(signal));
  } else if (leader_.started() && stage_ != Stage::settled) {
    stop_asked_ns_ = now_ns_;
    stop_asked_ = signal_name(signal);
    ask_to_stop(signal_name(signal));  // the run may just have begun
  } else if (stage_ != Stage::settled) {
    give_up(std::string("stopped before the run began: ") + signal_name(signal));
  }
}

void FarmRun::ask_to_stop(const std::string& reason) {
  say_it_ends();
  if (stop_until_ns_ == 0) stop_until_ns_ = now_ns_ + stop_bound_;
  leader_.stop(reason);
}

void FarmRun::give_up(const std::string& reason) {
  if (stage_ == Stage::ending) return;
  say_it_ends();  // a process that hangs does not end by itself
  if (result_.failure.empty()) result_.failure = reason;
  enter(Stage::ending);
  nodes_.stay_away();
  ending_.terminate(now_ns_);
}

void FarmRun::hurry() {
  const Ending::Push push = ending_.due(now_ns_);
  if (push == Ending::Push::none) return;
  if (push == Ending::Push::terminate && stage_ == Stage::settled) {
    for (const launch::FarmNodes::Node& node : nodes_.all()) {
      if (node.child.running()) result_.faults.push_back(node.plan->name + " did not end by itself");
    }
  }
  nodes_.signal_all(push == Ending::Push::kill ? SIGKILL : SIGTERM);
}

// ---- display

void FarmRun::say_it_ends() const {
  if (view_.ends) view_.ends();
}

void FarmRun::show() {
  farm_view::LiveFrame frame = rates_.take(news_.status(), now_ns_);
  nodes_.complete(frame);
  view_.show(frame);
}

}  // namespace weir::run
