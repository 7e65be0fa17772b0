#include "supervisor_node.hpp"

#include <weir/base/figures.hpp>
#include <weir/base/text.hpp>
#include <weir/config/stop_limit.hpp>
#include <weir/node/address_in_use.hpp>
#include <weir/node/fault_notes.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace weir::supervisor {
namespace {

// A process that connects anew has given its old connection up: recent traffic there means that another
// process uses this name.
constexpr DurationNs kLookForUnread = 10 * kMillisecond;  // a walk over the members

constexpr std::size_t kClientUnsentMax = 1U << 20;
constexpr std::size_t kRefusalBytesMax = 1000;

bool reported_finally(const RosterMember& member) { return member.has_report && member.report.final(); }

bool takes_part(Role role) { return role == Role::readout || role == Role::dcm || role == Role::writer; }

}  // namespace

SupervisorNode::SupervisorNode(const node::Setup& setup, SupervisorEnvironment environment)
    : settings_(node_settings(setup)),
      environment_(std::move(environment)),
      now_ns_(environment_.clock.now_ns()),
      machine_(machine_settings(setup), make_triggers(setup), make_policies(setup)),
      course_(now_ns_, settings_.gather_ns),
      journal_(journal_settings(setup), environment_, machine_, roster_, histograms_, bursts_,
               throttle_times_, answered_, &numbers_),
      dispatch_(dispatch_settings(setup), environment_.clock, roster_, machine_),
      bursts_(burst_alert_settings(setup), roster_, journal_.entries()),
      steps_(step_settings(setup)),
      text_responder_(
          text_settings(setup, environment_.claim), answered_,
          [this](const auto& trigger) { return offer(trigger); },
          [this](const auto& answer) { note_answer(answer); }),
      numbers_(settings_.numbers_skew_ns ? std::optional<numbering::NumberOrder>(
                                               std::in_place, settings_.readouts, *settings_.numbers_skew_ns,
                                               settings_.numbers_tolerance_ns)
                                         : std::nullopt),
      account_(account_settings(setup), environment_, peer_counters_, machine_, roster_, throttle_times_,
               bursts_, settings_.text_listen ? &text_responder_.counters() : nullptr,
               numbers_ ? &numbers_->counts() : nullptr),
      listener_(settings_.identity, *this, settings_.limits, peer_counters_, now_ns_),
      trigger_listener_(settings_.identity, *this, settings_.limits, peer_counters_, now_ns_),
      text_triggers_(text_responder_),
      told_stage_(course_.shown()) {
  for (const config::NodePlan& node : setup.plan.nodes) {
    if (node.masked || node.role == Role::supervisor) continue;
    RosterMember& member = roster_.plan(node.role, node.index, node.name, node.port);
    member.announce = node.announce;
    member.remote = node.remote;
    member.keeps = node.role == Role::dcm && !node.listen.empty();
    member.silence_max = silence_of_group(setup, node);
  }
  expect_absent();
  resume_run();
  const auto at = listener_.open(environment_.network, settings_.listen);
  if (!at) node::throw_listen_failure("supervisor.listen: " + at.error());
  const std::string triggers = listen_for_triggers();
  spdlog::info("listening at={} nodes={}{}", ports::to_text(*at), roster_.members().size(), triggers);
  environment_.listening(*at, triggers_at_, text_triggers_at_);
}

// Where data comes by the clock, triggers are made at their time.
TimeNs SupervisorNode::wake_at_ns() const {
  if (text_triggers_.is_behind()) return now_ns_;
  if (!settings_.pushes_by_clock || !course_.is(RunStage::running)) return node::Node::wake_at_ns();
  return machine_.next_wakeup(now()).value_or(node::Node::wake_at_ns());
}

void SupervisorNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  listener_.tick();
  trigger_listener_.tick();
  text_triggers_.tick(wait_for_nodes_until_ns_ != 0);
  if (now_ns >= look_for_unread_ns_) {
    look_for_unread_ns_ = now_ns + kLookForUnread;
    dispatch_.drop_nodes_that_do_not_read();
    // A plugin may take its time to begin the run.
    if (!course_.is_beginning()) dispatch_.drop_nodes_that_say_nothing(now_ns_);
  }
  dispatch_.tell_directory();
  dispatch_.tell_ports();
  if (course_.is(RunStage::gathering)) gather();
  if (course_.is_on()) advance_run();
  // Until a client has the account the next process of this run gives it again.
  if (watchers_.have_account()) {
    if (watchers_.wait_no_longer(now_ns_)) {
      if (!watchers_.account_awaited()) journal_.entries().remove();
      if (course_.is(RunStage::accounted)) course_.end();
    }
  } else if (course_.is(RunStage::reporting)) {
    wait_for_reports();
  }
  if (journal_.keep(course_, now_ns_)) tell_nodes();
  if (!journal_.waits()) {
    answers_.send();
    text_triggers_.send();
  }
  hold_back_slow_clients();
  send_status();
}

void SupervisorNode::gather() {
  if (roster_.complete()) {
    if (!course_.is_beginning()) return ask_to_begin();
    if (roster_.not_begun().empty()) return begin_run();
  }
  if (!course_.gathers_no_longer(now_ns_)) return;
  course_.fail("the run cannot begin: " + (roster_.complete()
                                               ? "no answer to BeginRun from " + roster_.not_begun()
                                               : "no connection from " + roster_.absent()));
}

void SupervisorNode::advance_run() {
  const bool waits = waits_for_nodes();
  if (!waits) offer_numbers();
  if (!waits) machine_.tick(now(), actions_);
  account_.look(course_.is(RunStage::running), now_ns_);
  journal_.write_shape(now_ns_);
  journal_.write_lost_times(now_ns_);
  if (waits) return;
  carry_out();
  if (course_.is(RunStage::running) && machine_.triggers_done()) {
    stop(why_triggers_ended());
  }
  const bool drained = course_.is(RunStage::draining) && machine_.drained() && !journal_.waits();
  const bool saved =
      bursts_.look(environment_.clock.utc_ns(), now_ns_, drained, drained && course_.is_past_limit(now_ns_));
  if (!journal_.waits()) bursts_.send();
  if (drained && saved) end_run();
}

std::string SupervisorNode::why_triggers_ended() {
  if (machine_.ids_used_up())
    return "the slice ids are used up: begin the next run with a lower trigger.first_slice";
  const std::uint64_t made = machine_.ledger().triggered.count;
  if (machine_.recording_is_over() && (settings_.slices == 0 || made < settings_.slices))
    return fmt::format("the recording is over, after {}", counted(made, "slice"));
  if ((settings_.slices > 0 && made >= settings_.slices) || !machine_.is_past_duration(now_ns_))
    return "all triggers made";
  std::string why = fmt::format("run.duration_s ({:g} s) is over", settings_.duration_s);
  if (settings_.slices > 0) why += fmt::format(", after {} of {} triggers", made, settings_.slices);
  return why;
}

void SupervisorNode::wait_for_reports() {
  carry_out();  // the fate of copies that writers acknowledge only now
  // A briefly disconnected node may reconnect and receive the end of the run.
  const bool orphans = std::any_of(roster_.members().begin(), roster_.members().end(),
                                   [this](const RosterMember& member) { return may_leave_orphans(member); });
  const bool away = roster_.is_one_away() && (course_.waits_for_absent(now_ns_) || orphans);
  const bool all_told = roster_.all_final() && !away;
  const auto takes_longer = [](const RosterMember& member) {
    return member.peer != nullptr && !member.report.final() &&
           member.report.notes().contains(std::string(node::kWaitsNote));
  };
  if (std::any_of(roster_.members().begin(), roster_.members().end(), takes_longer))
    course_.wait_longer_for_reports(now_ns_);
  if (all_told || !course_.waits_for_reports(now_ns_)) finish();
}

void SupervisorNode::carry_out() {
  if (stale_) return actions_.clear();
  journal_.note_machine_faults(now_ns_);
  journal_.write_pass(actions_);
  bursts_.note(actions_);
  note_leaving();
  if (!journal_.waits()) tell_nodes();
}

// These processes are ordered to end. The next supervisor process must know this: only their successors take
// part in the run.
void SupervisorNode::note_leaving() {
  for (const slice_rows::NodeRef node : actions_.leaving) {
    RosterMember& member = *roster_.find(node.role, node.node);
    if (!std::exchange(member.told_to_end, true)) journal_.write_join(member);
  }
}

// Sends messages once the journal contains their cause; newcomers are welcomed afterwards.
void SupervisorNode::tell_nodes() {
  if (course_.is_on()) {
    dispatch_.tell_destinations();
    dispatch_.tell_absences();
  }
  clear_vetoed_numbers();
  dispatch_.carry_out(actions_, course_, journal_.entries().serial(), now_ns_);
  bursts_.noted_all();
  bursts_.send();
}

// A writer that is away and may have copies of slices that were not stored: no other process can mark them
// as dead.
bool SupervisorNode::may_leave_orphans(const RosterMember& member) const {
  const bool away = member.was_there && member.peer == nullptr;
  const bool told = member.has_report && member.report.final();
  return member.role == Role::writer && away && !told && machine_.copies_given_up(member.index).orphans > 0;
}

// ---- nodes

std::string SupervisorNode::check_hello(const sessions::PeerInfo& info) {
  if (!takes_part(info.role)) {
    if (info.role == Role::control || info.role == Role::trigger) return {};
    return "'" + info.name + "' is a " + std::string(name(info.role)) + ", which a supervisor does not take";
  }
  RosterMember* member = roster_.find(info.role, info.index);
  if (member == nullptr || member->name != info.name) {
    return "'" + info.name + "' is not in the plan of farm '" + settings_.identity.farm +
           "': start all processes with the same farm file";
  }
  const DurationNs lately = settings_.speaks_within;
  const bool speaks = member->peer != nullptr && now_ns_ - member->heard_ns < lately;
  // Its connection broke, or another process replaces a dead one.
  if (member->peer != nullptr && !speaks) return {};
  if (member->peer != nullptr && member->peer->ready()) {
    return "'" + info.name + "' is here already, from " + member->peer->stream().peer() +
           ": end that process first";
  }
  return {};
}

void SupervisorNode::on_ready(sessions::Peer& peer) {
  if (peer.info().role == Role::control) {
    watchers_.add(peer);
    next_status_ns_ = now_ns_;  // the client needs the run's present stage
    return;
  }
  RosterMember* member = roster_.find(peer.info().role, peer.info().index);
  if (member == nullptr) return;  // a trigger client
  if (member->peer != nullptr) member->peer->drop("connected again");
  roster_.connected(*member, peer);
  join(*member);
}

void SupervisorNode::lose_entries(const RosterMember& member) {
  if (member.role == Role::dcm && course_.has_begun()) histograms_.lost(member.name, member.incarnation);
}

void SupervisorNode::join(RosterMember& member) {
  sessions::Peer& peer = *member.peer;
  const sessions::PeerInfo& info = peer.info();
  spdlog::info("joined name={} peer={}", member.name, peer.stream().peer());
  const bool same_process = member.was_there && member.incarnation == info.incarnation;
  // Passes that it has received since are this process' own.
  const bool met = member.meet(info.incarnation);
  // Its counters continue from their values.
  if (same_process) {
    roster_.unbury(member);
    histograms_.returned(member.name, member.incarnation);
  }
  if (!same_process) {
    // It died, perhaps before this supervisor started.
    if (member.was_there && !reported_finally(member)) lose_entries(member);
    roster_.bury(member);
    const bool first = course_.is(RunStage::gathering);
    member.first_slice = first ? settings_.first_slice : dispatch_.next_slice();
    // Vetoed numbers are not announced.
    if (numbers_ && !first) member.first_slice = std::max(member.first_slice, numbers_->state().next.value);
    member.first_order = dispatch_.announced();
    member.incarnation = info.incarnation;
    member.told_to_end = false;
    member.begun = false;
    member.brings_no_number = course_.is_on();
    member.stood_still = false;
    journal_.write_join(member);
  }
  member.was_there = true;
  member.heard_ns = now_ns_;
  member.absent = false;
  member.share_sent = {};
  dispatch_.directory_changed();
  if (member.role == Role::dcm) dispatch_.ports_changed();
  const slice_rows::NodeRef node{member.role, member.index};
  if (member.told_to_end && course_.is_on()) machine_.was_told_to_end(node, actions_);
  switch (member.role) {
    case Role::dcm:
      // The journal has the join, and buries the earlier process at once.
      if (!same_process) bursts_.dcm_replaced(member.index);
      member.on_hold = course_.is_on() && !same_process;
      if (!member.on_hold) admit_dcm(member);
      break;
    case Role::readout:
      machine_.readout_joined(member.index, info.incarnation, now_ns_);
      if (steps_.names_any()) peer.send(steps_.verdict());
      break;
    default:
      machine_.writer_joined(member.index, info.incarnation, now_ns_, actions_);
      if (course_.is_on()) bursts_.writer_joined(member);
      break;
  }
  if (!met) take_last_pass(member, info.last_pass);
  if (course_.is_beginning()) dispatch_.send_begin(member, course_.begun_utc_ns(), false);
  if (course_.is(RunStage::gathering) || course_.is(RunStage::done)) return;
  // It was draining when its connection broke.
  if (same_process && machine_.part(node) == slice_rows::Part::out) machine_.remove(node, now_ns_);
  dispatch_.came(member, same_process ? Welcome::open_slices : Welcome::begin);
  if (member.role == Role::readout) look_whether_it_stands();
  if (!course_.is_ending()) return;  // in the pass, once the journal contains its messages
  dispatch_.welcome(member, course_.begun_utc_ns());
  Dispatch::send_end(peer);
}

void SupervisorNode::admit_dcm(const RosterMember& dcm) {
  machine_.dcm_joined(dcm.index, dcm.incarnation, dcm.peer->info().credits, now_ns_, actions_);
  if (course_.is_on()) bursts_.dcm_joined(dcm);
}

void SupervisorNode::take_begun(RosterMember& member, const v1::Begun& begun) {
  if (begun.refusal().empty()) {
    member.begun = true;
    if (std::exchange(member.on_hold, false)) admit_dcm(member);
    return;
  }
  const std::string refusal = clean_quoted(begun.refusal(), kRefusalBytesMax);
  spdlog::error("run not begun name={} reason=\"{}\"", member.name, refusal);
  if (course_.is(RunStage::gathering))
    return course_.fail("the run cannot begin: " + member.name + ": " + refusal);
  // It is tried again, and may fail again for the same reason.
  if (course_.is_on() && std::exchange(member.refusal, refusal) != refusal)
    journal_.note_fault(member.name + " could not begin the run: " + refusal);
}

void SupervisorNode::on_gone(sessions::Peer& peer, std::string_view why) {
  watchers_.remove(peer);
  answers_.forget(peer);
  RosterMember* member = roster_.find(peer);
  if (member == nullptr) {
    if (!peer.was_ready()) refusals_.note(peer, why, now_ns_);
    return;
  }
  member->peer = nullptr;
  if (member->role == Role::dcm) dispatch_.ports_changed();
  const bool final = member->has_report && member->report.final();
  if (final && (course_.is_ending() || course_.is(RunStage::done))) return;
  if (final) {
    spdlog::info("drained name={}", member->name);
  } else {
    spdlog::warn("left name={} reason=\"{}\"", member->name, why);
  }
  leave(*member);
}

void SupervisorNode::leave(RosterMember& member) {
  dispatch_.directory_changed();
  // An order to end that has not been sent yet was meant for this process, not for its successor.
  std::erase(actions_.leaving, slice_rows::NodeRef{member.role, member.index});
  const bool reported = reported_finally(member);
  if (!reported) {
    if (member.has_report) write_report(member);
    roster_.bury(member);
    lose_entries(member);
  }
  if (course_.is_ending()) journal_.note_fault(member.name + " left before its final report");
  switch (member.role) {
    case Role::dcm:
      if (std::exchange(member.on_hold, false)) break;
      machine_.dcm_left(member.index, now_ns_, actions_, reported);
      if (course_.is_on()) bursts_.dcm_left(member, now_ns_);
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

// The plugins begin the run before it begins: no slice is triggered that they would refuse.
void SupervisorNode::ask_to_begin() {
  if (const std::string why = environment_.begin ? environment_.begin() : std::string(); !why.empty())
    return course_.fail(why);
  course_.ask_to_begin(now_ns_, environment_.clock.utc_ns(), settings_.gather_ns);
  dispatch_.begin(settings_.first_slice, SliceOrder());
  if (numbers_) numbers_->begin(SliceId(settings_.first_slice), now_ns_);
  dispatch_.directory_to_all();
  for (const RosterMember& member : roster_.members()) {
    if (member.peer != nullptr) dispatch_.send_begin(member, course_.begun_utc_ns(), false);
  }
}

void SupervisorNode::begin_run() {
  spdlog::info("run began");
  course_.begin(now_ns_, course_.begun_utc_ns());
  machine_.start(now());
  journal_.write_state(course_, now_ns_);
}

void SupervisorNode::stop(const std::string& reason, DurationNs limit_ns) {
  if (course_.is(RunStage::gathering)) return course_.fail("stopped before the run began: " + reason);
  if (course_.is(RunStage::running)) {
    spdlog::info("run draining reason=\"{}\"", reason);
    const DurationNs running_ns = now_ns_ - course_.begun_ns() - machine_.paused_ns(now_ns_);
    journal_.entries().write_stop(reason, running_ns);
    course_.drain(reason, running_ns);
    machine_.request_stop(now_ns_);
    journal_.write_shape(now_ns_);  // a paused run continues
  }
  if (limit_ns > 0) limit_stop(limit_ns);
}

// Also of a run that drains already: because its triggers were at their end, or before this process began.
void SupervisorNode::limit_stop(DurationNs limit_ns) {
  const config::StopParts parts = config::stop_parts(limit_ns);
  if (course_.is(RunStage::draining)) machine_.request_stop(now_ns_, parts.drain_ns);
  course_.limit_reports(now_ns_ + parts.reports_ns);
}

void SupervisorNode::end_run() {
  journal_.entries().write_reporting();
  course_.report(now_ns_);
  for (RosterMember& member : roster_.members()) {
    if (member.peer != nullptr) Dispatch::send_end(*member.peer);
  }
}

void SupervisorNode::finish() {
  bursts_.give_up(environment_.clock.utc_ns(), now_ns_);
  for (const RosterMember& member : roster_.members()) {
    if (reported_finally(member)) continue;
    if (member.peer != nullptr) journal_.note_fault(member.name + " gave no final report in time");
    if (member.was_there) lose_entries(member);
  }
  for (const RosterMember& member : roster_.members()) {
    if (!may_leave_orphans(member)) continue;
    journal_.note_fault(member.name + " did not reconnect: its disk may contain " +
                        counted(machine_.copies_given_up(member.index).orphans, "slice") +
                        " that ended without being stored");
  }
  if (journal_.entries().lost())
    journal_.note_fault("the run's journal could not be written: the run could not have been resumed");
  v1::Control message;
  v1::RunSummary& summary = *message.mutable_summary();
  summary = account_.summary(course_, journal_.faults(), journal_.waits(), now_ns_);
  histograms_.add_all(summary);
  if (settings_.watcher != nullptr) settings_.watcher->on_summary(summary);
  spdlog::info("run ended balanced={} triggered={} seconds={:.3f} reason=\"{}\"", summary.balanced(),
               machine_.ledger().triggered.count, static_cast<double>(summary.duration_ns()) / kSecond,
               course_.reason());
  if (!summary.balanced()) course_.note_failure("the ledger does not balance");
  course_.account();
  // Run control already has its account; but the program that started a farm for one run may not have read it
  // yet.
  const bool awaited = settings_.one_run || (watchers_.was_one() && settings_.watcher == nullptr);
  watchers_.give_account(std::move(message), awaited, now_ns_);
}

void SupervisorNode::send_status() {
  // A change of stage is reported immediately: a client must be able to distinguish a process that dies
  // during the run from one that never joined.
  if (watchers_.is_empty() && settings_.reports == nullptr) return;
  // A run that never began is not shown as one that is over.
  if (course_.is(RunStage::done) && course_.begun_ns() == 0) return;
  if (now_ns_ < next_status_ns_ && course_.shown() == told_stage_) return;
  told_stage_ = course_.shown();
  next_status_ns_ = now_ns_ + settings_.status_interval_ns;
  v1::Control message;
  v1::FarmStatus& status = *message.mutable_status();
  status = account_.status(course_, journal_.waits(), now_ns_);
  v1::Report& own = *status.mutable_nodes(status.nodes_size() - 1);
  histograms_.add_changed(own);
  if (settings_.reports != nullptr) settings_.reports->take(own);
  watchers_.say(message);
}

// Reading pauses for a client that does not read its answers.
void SupervisorNode::hold_back_slow_clients() {
  for (const sessions::SessionListener* listener : {&listener_, &trigger_listener_}) {
    for (const auto& peer : listener->peers()) {
      if (!peer->ready() || takes_part(peer->info().role)) continue;
      peer->stream().pause_receiving(peer->unsent_bytes() + answers_.bytes_for(*peer) > kClientUnsentMax);
    }
  }
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, SupervisorEnvironment environment) {
  return std::make_unique<SupervisorNode>(setup, std::move(environment));
}

}  // namespace weir::supervisor
