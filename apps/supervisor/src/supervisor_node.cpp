#include "supervisor_node.hpp"

#include "settings.hpp"
#include <weir/node/report.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>

namespace weir::supervisor {
namespace {

constexpr DurationNs kGatherPatience = 30 * kSecond;  // for all nodes of the plan to come

// A process that connects anew has given its old connection up: whoever spoke there so shortly is another.
constexpr DurationNs kSpeaksWithin = 2 * kSecond;

constexpr std::size_t kClientUnsentMax = 1U << 20;

bool takes_part(Role role) { return role == Role::readout || role == Role::dcm || role == Role::writer; }

}  // namespace

SupervisorNode::SupervisorNode(const node::Setup& setup, Environment environment)
    : setup_(setup),
      environment_(std::move(environment)),
      machine_(machine_settings(setup_), make_triggers(setup_), make_assignment_policy(setup_)),
      journal_(environment_.journal),
      door_(setup_.identity, *this, setup_.limits, peer_counters_, now_ns_),
      trigger_door_(setup_.identity, *this, setup_.limits, peer_counters_, now_ns_) {
  now_ns_ = environment_.clock.now_ns();
  gather_until_ns_ = now_ns_ + kGatherPatience;
  for (const config::NodePlan& node : setup_.plan.nodes) {
    if (node.masked || node.role == Role::supervisor) continue;
    roster_.plan(node.role, node.index, node.name, node.port);
  }
  expect_absent();
  resume_run();
  const auto at = door_.open(environment_.network, setup_.supervisor);
  if (!at) throw std::runtime_error("supervisor.listen: " + at.error());
  ports::Endpoint triggers;
  if (setup_.farm.trigger().mode() == v1::TriggerSettings::MODE_NETWORK) {
    const auto opened =
        trigger_door_.open(environment_.network, node::parse_endpoint(setup_.farm.trigger().listen()));
    if (!opened) throw std::runtime_error("trigger.listen: " + opened.error());
    triggers = *opened;
  }
  spdlog::info("listens at={}:{} nodes={}{}", at->host, at->port, roster_.members().size(),
               triggers.port == 0 ? "" : fmt::format(" triggers={}:{}", triggers.host, triggers.port));
  environment_.listening(*at, triggers);
}

// Where data comes by the clock, triggers are made at their time.
TimeNs SupervisorNode::wake_at_ns() const {
  const auto mode = setup_.farm.trigger().mode();
  const bool by_the_clock = mode == v1::TriggerSettings::MODE_CLOCK ||
                            mode == v1::TriggerSettings::MODE_RATE ||
                            mode == v1::TriggerSettings::MODE_POISSON;
  const bool push = setup_.farm.run().mode() == v1::RunSettings::MODE_PUSH;
  if (!push || !by_the_clock || state_ != State::running) return node::Node::wake_at_ns();
  return machine_.next_wakeup(now()).value_or(node::Node::wake_at_ns());
}

assignment::Now SupervisorNode::now() const { return {now_ns_, environment_.clock.utc_ns()}; }

void SupervisorNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  door_.tick();
  trigger_door_.tick();
  if (directory_changed_) send_directory();
  if (ports_changed_) share_ports();
  if (state_ == State::gathering) {
    if (roster_.complete()) {
      begin_run();
    } else if (now_ns_ >= gather_until_ns_) {
      failure_ = "the run cannot begin: no connection from " + roster_.absent();
      state_ = State::done;
    }
  }
  if (state_ == State::running || state_ == State::draining) {
    machine_.tick(now(), actions_);
    const bool triggering = state_ == State::running;
    throttle_times_.look(triggering ? machine_.throttled_by() : std::vector<assignment::HoldUp>(), now_ns_);
    write_shape();
    tell_destinations();
    tell_absences();
    carry_out();
    if (state_ == State::running && machine_.triggers_done()) {
      stop(machine_.ids_used_up()
               ? "the slice ids are used up: begin the next run with a lower trigger.first_slice"
               : "all triggers made");
    }
    if (state_ == State::draining && machine_.drained()) end_run();
  }
  if (account_) {
    // Whoever watches says that it has the account. Its connection may break on the way, and this process may
    // die, or have slept for as long as it was patient: until then the next one gives it again.
    if (now_ns_ >= account_until_ns_) {
      if (!account_awaited_) journal_.remove();
      state_ = State::done;
    }
  } else if (state_ == State::reporting) {
    carry_out();  // what became of copies that writers acknowledge only now
    // Who is away for a moment may be back to hear that the run is over.
    const bool orphans = std::any_of(roster_.members().begin(), roster_.members().end(),
                                     [this](const Member& member) { return may_leave_orphans(member); });
    const bool away = roster_.is_one_away() && (now_ns_ < absent_until_ns_ || orphans);
    const bool all_told = roster_.all_final() && !away;
    if (all_told || now_ns_ >= reporting_until_ns_) finish();
  }
  keep_journal();
  hold_back_slow_clients();
  send_status();
}

// A writer that is away and may have copies of slices that were not stored: nobody else can mark them as
// dead.
bool SupervisorNode::may_leave_orphans(const Member& member) const {
  const bool away = member.was_there && member.peer == nullptr;
  const bool told = member.has_report && member.report.final();
  return member.role == Role::writer && away && !told && machine_.copies_given_up(member.index).orphans > 0;
}

// ---- nodes

std::string SupervisorNode::check_hello(const messages::PeerInfo& info) {
  if (!takes_part(info.role)) {
    if (info.role == Role::control || info.role == Role::trigger) return {};
    return "'" + info.name + "' is a " + std::string(name(info.role)) + ", which a supervisor does not take";
  }
  Member* member = roster_.find(info.role, info.index);
  if (member == nullptr || member->name != info.name) {
    return "'" + info.name + "' is not in the plan of farm '" + setup_.farm.farm() +
           "': start all processes with the same farm file";
  }
  const DurationNs lately =
      std::min<DurationNs>(kSpeaksWithin, 2 * setup_.farm.supervisor().status_interval_ms() * kMillisecond);
  const bool speaks = member->peer != nullptr && now_ns_ - member->heard_ns < lately;
  // Its connection broke.
  if (member->peer != nullptr && member->incarnation == info.incarnation && !speaks) return {};
  if (member->peer != nullptr && member->peer->ready()) {
    return "'" + info.name + "' is here already, from " + member->peer->stream().peer() +
           ": end that process first";
  }
  return {};
}

void SupervisorNode::on_ready(messages::Peer& peer) {
  if (peer.info().role == Role::control) {
    watchers_.push_back(&peer);
    watched_ = true;
    next_status_ns_ = now_ns_;  // it wants to know where the run is
    if (account_) peer.send(*account_);
    return;
  }
  Member* member = roster_.find(peer.info().role, peer.info().index);
  if (member == nullptr) return;  // a trigger client
  if (member->peer != nullptr) member->peer->drop("connected again");
  member->peer = &peer;
  join(*member);
}

void SupervisorNode::join(Member& member) {
  messages::Peer& peer = *member.peer;
  const messages::PeerInfo& info = peer.info();
  spdlog::info("joined name={} peer={}", member.name, peer.stream().peer());
  const bool same_process = member.was_there && member.incarnation == info.incarnation;
  // Its counters go on from where they were.
  if (same_process) roster_.unbury(member);
  if (!same_process) {
    roster_.bury(member);
    const bool first = state_ == State::gathering;
    member.first_slice = first ? setup_.farm.trigger().first_slice() : next_slice_;
    journal_.write_join(member.role, member.index, {info.incarnation.value, member.first_slice});
  }
  member.incarnation = info.incarnation;
  member.was_there = true;
  member.absent = false;
  member.share_sent = {};
  directory_changed_ = ports_changed_ = true;
  switch (member.role) {
    case Role::dcm:
      machine_.dcm_joined(member.index, info.incarnation, info.credits, now_ns_, actions_);
      break;
    case Role::readout:
      machine_.readout_joined(member.index, info.incarnation, now_ns_);
      break;
    default:
      machine_.writer_joined(member.index, info.incarnation, now_ns_, actions_);
      break;
  }
  if (state_ == State::gathering || state_ == State::done) return;
  // It was told to end, and has not: its connection broke.
  if (same_process && machine_.part(ref(member)) == assignment::Part::out)
    machine_.remove(ref(member), now_ns_);
  send_begin(member);
  if (member.role != Role::writer) send_destinations(peer);
  if (member.role == Role::dcm) send_absences(peer);
  if (same_process && member.role == Role::readout) send_open_slices(member);
  if (state_ == State::reporting) send_end(peer);
}

void SupervisorNode::on_gone(messages::Peer& peer, std::string_view why) {
  std::erase(watchers_, &peer);
  Member* member = roster_.find(peer);
  if (member == nullptr) {
    if (!peer.was_ready()) refusals_.note(peer, why, now_ns_);
    return;
  }
  member->peer = nullptr;
  const bool final = member->has_report && member->report.final();
  if (final && (state_ == State::reporting || state_ == State::done)) return;
  if (final) {
    spdlog::info("drained name={}", member->name);
  } else {
    spdlog::warn("left name={} reason=\"{}\"", member->name, why);
  }
  leave(*member);
}

void SupervisorNode::leave(Member& member) {
  directory_changed_ = ports_changed_ = true;
  const bool reported = member.has_report && member.report.final();
  if (!reported) {
    if (member.has_report) journal_.write_report(member.report);
    roster_.bury(member);
  }
  if (state_ == State::reporting) note_fault(member.name + " left before its final report");
  switch (member.role) {
    case Role::dcm:
      machine_.dcm_left(member.index, now_ns_, actions_, reported);
      break;
    case Role::readout:
      machine_.readout_left(member.index, now_ns_);
      break;
    default:
      machine_.writer_left(member.index, now_ns_, actions_);
      break;
  }
}

// ---- the run

void SupervisorNode::begin_run() {
  if (environment_.begin) failure_ = environment_.begin();
  if (!failure_.empty()) {
    state_ = State::done;
    return;
  }
  spdlog::info("run begins");
  state_ = State::running;
  begun_ns_ = now_ns_;
  const assignment::Now begin = now();
  begun_utc_ = begin.utc;
  next_slice_ = setup_.farm.trigger().first_slice();
  machine_.start(begin);
  write_state();
  send_directory();
  for (const Member& member : roster_.members()) {
    if (member.peer != nullptr) send_begin(member);
  }
}

// A process that has not got it over an earlier connection missed nothing by that.
void SupervisorNode::send_begin(const Member& member) {
  v1::Control message;
  v1::BeginRun& begin = *message.mutable_begin_run();
  begin.set_run(setup_.run.value);
  begin.set_utc_ns(begun_utc_);
  begin.set_first_slice(member.first_slice);
  member.peer->send(message);
}

void SupervisorNode::stop(const std::string& reason) {
  if (state_ == State::gathering) {
    failure_ = "stopped before the run began: " + reason;
    state_ = State::done;
  }
  if (state_ != State::running) return;
  spdlog::info("run drains reason=\"{}\"", reason);
  reason_ = reason;
  journal_.write_stop(reason);
  state_ = State::draining;
  machine_.request_stop(now_ns_);
}

void SupervisorNode::end_run() {
  journal_.write_reporting();
  state_ = State::reporting;
  reporting_until_ns_ = now_ns_ + kReportPatience;
  absent_until_ns_ = now_ns_ + kAbsentPatience;
  for (Member& member : roster_.members()) {
    if (member.peer != nullptr) send_end(*member.peer);
  }
}

void SupervisorNode::send_end(messages::Peer& peer) {
  v1::Control message;
  message.mutable_end_run()->set_shutdown(true);
  peer.send(message);
}

void SupervisorNode::finish() {
  for (const Member& member : roster_.members()) {
    if (member.peer != nullptr && !(member.has_report && member.report.final())) {
      note_fault(member.name + " gave no final report in time");
    }
  }
  for (const Member& member : roster_.members()) {
    if (!may_leave_orphans(member)) continue;
    note_fault(member.name +
               " did not come back: " + std::to_string(machine_.copies_given_up(member.index).orphans) +
               " slice(s) that were not stored may be on its disk");
  }
  if (journal_.lost())
    note_fault("the run's journal could not be written: nobody could have gone on with it");
  v1::Control& message = account_.emplace();
  *message.mutable_summary() = make_summary();
  for (messages::Peer* watcher : watchers_) watcher->send(message);
  if (setup_.watcher != nullptr) setup_.watcher->on_summary(message.summary());
  spdlog::info("run ends balanced={} triggered={} seconds={:.3f} reason=\"{}\"", message.summary().balanced(),
               machine_.ledger().triggered.count,
               static_cast<double>(message.summary().duration_ns()) / kSecond, reason_);
  if (!message.summary().balanced()) failure_ = "the ledger does not balance";
  const DurationNs patience = watchers_.empty() ? kWatcherPatience : kAbsentPatience;
  // Run control has its account already; but who started a farm for one run may not have come to it yet.
  account_awaited_ = setup_.one_run || !watchers_.empty() || (watched_ && setup_.watcher == nullptr);
  account_until_ns_ = account_awaited_ ? now_ns_ + patience : now_ns_;
}

// A client that sends and does not read is not read from until it does.
void SupervisorNode::hold_back_slow_clients() {
  for (const messages::Door* door : {&door_, &trigger_door_}) {
    for (const auto& peer : door->peers()) {
      if (!peer->ready() || takes_part(peer->info().role)) continue;
      peer->stream().pause_receiving(peer->unsent_bytes() > kClientUnsentMax);
    }
  }
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment) {
  return std::make_unique<SupervisorNode>(setup, std::move(environment));
}

}  // namespace weir::supervisor
