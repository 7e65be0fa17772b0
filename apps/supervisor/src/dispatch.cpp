#include "dispatch.hpp"

#include "directory.hpp"
#include <weir/base/assert.hpp>
#include <weir/slice_codec/announce.hpp>
#include <weir/slice_codec/assign.hpp>
#include <weir/slice_codec/decide.hpp>
#include <weir/slice_codec/settled.hpp>
#include <weir/slice_codec/tables.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::supervisor {
namespace {

bool is_there(const RosterMember& member) { return member.peer != nullptr; }
bool is_to_be_welcomed(const RosterMember& member) {
  return is_there(member) && member.welcome != Welcome::none;
}
// A readout that is to receive all open slices gets this pass's slices with them.
bool takes_announcements(const RosterMember& member) {
  return member.role == Role::readout && is_there(member) && member.welcome != Welcome::open_slices;
}

}  // namespace

Dispatch::Dispatch(const DispatchSettings& settings, const ports::Clock& clock, Roster& roster,
                   assignment::SupervisorMachine& machine, std::size_t unsent_max)
    : settings_(settings), clock_(clock), roster_(roster), machine_(machine), unsent_max_(unsent_max) {}

// Separate from sending: dropping a node causes new actions, in the middle of the current ones.
void Dispatch::drop_nodes_that_do_not_read() {
  for (const RosterMember& member : roster_.members()) {
    if (is_there(member) && member.peer->unsent_bytes() > unsent_max_)
      member.peer->drop("does not read the supervisor's messages");
  }
}

void Dispatch::drop_nodes_that_say_nothing(TimeNs now_ns) {
  constexpr int kOwnShare = 4;  // share of it; longer gaps between two calls are this process's own stalls
  if (now_ns - looked_for_silent_ns_ > settings_.silence_max / kOwnShare) listens_since_ns_ = now_ns;
  looked_for_silent_ns_ = now_ns;
  for (const RosterMember& member : roster_.members()) {
    if (!is_there(member) || (member.has_report && member.report.final())) continue;
    const DurationNs silent = now_ns - std::max(member.heard_ns, listens_since_ns_);
    const DurationNs silence_max = member.silence_max > 0 ? member.silence_max : settings_.silence_max;
    if (silent > silence_max) member.peer->drop(fmt::format("silent for {} s", silent / kSecond));
  }
}

void Dispatch::send_to(Role role, const v1::Control& message) {
  const sessions::ControlFrames frames = sessions::frames_of(message);
  for (RosterMember& member : roster_.members()) {
    if (member.role == role && is_there(member)) member.peer->send(frames);
  }
}

template <class Row>
bool Dispatch::for_all(std::span<const Row> rows) const {
  return std::none_of(rows.begin(), rows.end(),
                      [this](const Row& row) { return machine_.absences().may_cover(row.order); });
}

template <class Row>
std::vector<Row> Dispatch::own_part(const RosterMember& readout, std::span<const Row> rows) const {
  std::vector<Row> own;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
               [&](const Row& row) { return !machine_.absences().covers(readout.index, row.order); });
  return own;
}

std::optional<UtcNs> Dispatch::push_utc_ns() const {
  if (machine_.destinations().number() == 0) return std::nullopt;
  return clock_.utc_ns();
}

void Dispatch::carry_out(assignment::Actions& actions, RunStages& course, std::uint64_t pass, TimeNs now_ns) {
  for (v1::Control* message : {&announcement_, &assignment_, &confirmation_, &clear_, &settled_})
    message->set_pass(pass);
  const bool newcomers = std::exchange(newcomers_, false);
  for (const RosterMember& member : roster_.members()) {
    if (!newcomers) break;
    if (is_to_be_welcomed(member)) greet(member, course.begun_utc_ns());
  }
  if (!actions.announce.empty()) {
    course.triggered(now_ns);
    send_announcements(actions);
  }
  for (RosterMember& member : roster_.members()) {
    if (!newcomers) break;
    if (is_to_be_welcomed(member)) bring_up_to_date(member);
  }
  if (actions.empty()) return;
  if (!actions.judged.empty()) send_verdicts(actions);
  for (const NodeIndex index : actions.touched) {
    RosterMember* member = roster_.find(Role::dcm, index);
    if (member == nullptr || member->peer == nullptr) continue;
    const assignment::DcmActions& own = actions.of(index);
    const bool with_order = !settings_.ids_ascend || machine_.absences().number() > 0;
    slice_codec::each_assignment(own.assign, actions.payload, with_order, assignment_,
                                 [member](const v1::Control& message) { member->peer->send(message); });
    if (own.confirm.empty()) continue;
    slice_codec::encode(own.confirm, *confirmation_.mutable_confirm());
    member->peer->send(confirmation_);
  }
  if (!actions.cleared.empty() || !actions.copies.empty()) {
    course.settled(now_ns);
    send_cleared(actions);
  }
  for (const slice_rows::NodeRef node : actions.leaving) let_go(node);
  actions.clear();
}

void Dispatch::send_announcements(const assignment::Actions& actions) {
  for (const assignment::Announcement& one : actions.announce) {
    next_slice_ = std::max(next_slice_, one.slice.value + 1);
    announced_ = std::max(announced_, one.order.next());
  }
  if (for_all<assignment::Announcement>(actions.announce)) {
    slice_codec::each_announcement(actions.announce, false, push_utc_ns(), announcement_,
                                   [this](const v1::Control& message) {
                                     const sessions::ControlFrames frames = sessions::frames_of(message);
                                     for (RosterMember& member : roster_.members()) {
                                       if (takes_announcements(member)) member.peer->send(frames);
                                     }
                                   });
    return;
  }
  for (RosterMember& member : roster_.members()) {
    if (!takes_announcements(member)) continue;
    slice_codec::each_announcement(own_part<assignment::Announcement>(member, actions.announce), false,
                                   push_utc_ns(), announcement_,
                                   [&member](const v1::Control& message) { member.peer->send(message); });
  }
}

// For a reconnected readout: slices that it may have missed, and slices that it need not keep.
void Dispatch::send_open_slices(const RosterMember& member) const {
  sessions::Peer& peer = *member.peer;
  const std::vector<assignment::Announcement> open =
      own_part<assignment::Announcement>(member, machine_.open_slices());
  v1::Control message;
  slice_codec::each_announcement(open, true, push_utc_ns(), message,
                                 [&peer](const v1::Control& announcement) { peer.send(announcement); });
  slice_codec::encode(open, *message.mutable_open_slices());
  peer.send(message);
}

void Dispatch::send_verdicts(const assignment::Actions& actions) {
  for (const NodeIndex dcm : actions.judged) {
    RosterMember* member = roster_.find(Role::dcm, dcm);
    if (member == nullptr || member->peer == nullptr) continue;
    v1::Control message;
    v1::ReachVerdict& verdict = *message.mutable_reach_verdict();
    verdict.set_cut_off(machine_.reach().is_cut_off(dcm));
    for (const NodeIndex readout : machine_.reach().missing(dcm)) verdict.add_missing(readout.value);
    member->peer->send(message);
  }
  log_new_faults();
}

void Dispatch::log_new_faults() {
  const auto faults = machine_.faults();
  WEIR_ASSERT(faults_logged_ <= faults.size());
  const auto name_of = [this](Role role, NodeIndex index) { return roster_.name_of(role, index); };
  for (; faults_logged_ < faults.size(); ++faults_logged_) {
    const assignment::Fault& fault = faults[faults_logged_];
    if (fault.kind > assignment::FaultKind::stalled) spdlog::warn("{}", assignment::describe(fault, name_of));
  }
}

void Dispatch::send_clear(const assignment::Actions& actions) {
  v1::ClearSlices& clear = *clear_.mutable_clear();
  if (for_all<assignment::Cleared>(actions.cleared)) {
    slice_codec::encode(actions.cleared, settings_.true_tracks, clear);
    if (clear.slice_size() > 0) send_to(Role::readout, clear_);
    return;
  }
  for (RosterMember& member : roster_.members()) {
    if (member.role != Role::readout || !is_there(member)) continue;
    slice_codec::encode(own_part<assignment::Cleared>(member, actions.cleared), settings_.true_tracks, clear);
    if (clear.slice_size() > 0) member.peer->send(clear_);
  }
}

void Dispatch::send_cleared(const assignment::Actions& actions) {
  send_clear(actions);
  v1::Settled& settled = *settled_.mutable_settled();
  bool made = false;
  for (RosterMember& member : roster_.members()) {
    if (member.role != Role::writer || !is_there(member)) continue;
    if (!std::exchange(made, true)) slice_codec::encode(actions.cleared, settled);
    slice_codec::encode(actions.copies, member.index, settled);
    member.peer->send(settled_);
  }
}

// The node has no work left: its final report is handled as at the end of a run.
void Dispatch::let_go(slice_rows::NodeRef node) {
  const RosterMember* found = roster_.find(node.role, node.node);
  if (found == nullptr || found->peer == nullptr) return;
  spdlog::info("end order sent name={}", found->name);
  send_end(*found->peer);
}

void Dispatch::tell_directory() {
  if (directory_changed_) directory_to_all();
}

void Dispatch::directory_to_all() {
  directory_changed_ = false;
  const sessions::ControlFrames near = sessions::frames_of(directory(roster_, false));
  const sessions::ControlFrames far = sessions::frames_of(directory(roster_, true));
  for (RosterMember& member : roster_.members()) {
    if (member.role == Role::dcm && is_there(member)) member.peer->send(member.remote ? far : near);
  }
}

// The window belongs to the port. A DCM alone at its port gets no message.
void Dispatch::tell_ports() {
  if (!std::exchange(ports_changed_, false)) return;
  const auto shares = roster_.port_shares();
  for (RosterMember& member : roster_.members()) {
    if (member.role != Role::dcm || member.peer == nullptr) continue;
    const DcmPortShare share = shares.at(member.port);
    if (share == member.share_sent || (share.members == 1 && member.share_sent.members <= 1)) continue;
    member.share_sent = share;
    v1::Control message;
    message.mutable_port_share()->set_members(share.members);
    message.mutable_port_share()->set_base_ns(static_cast<std::int64_t>(share.base_us * kMicrosecond));
    member.peer->send(message);
  }
}

void Dispatch::tell_destinations() {
  const std::uint32_t number = machine_.destinations().number();
  if (std::exchange(destinations_told_, number) == number) return;
  for (RosterMember& member : roster_.members()) {
    const bool told = member.role != Role::writer && is_there(member) && !is_to_be_welcomed(member);
    if (told) send_destinations(*member.peer);
  }
}

void Dispatch::tell_absences() {
  const std::uint32_t number = machine_.absences().number();
  if (std::exchange(absences_told_, number) == number) return;
  for (RosterMember& member : roster_.members()) {
    const bool told = member.role == Role::dcm && is_there(member) && !is_to_be_welcomed(member);
    if (told) send_absences(*member.peer);
  }
}

void Dispatch::send_destinations(sessions::Peer& peer) const {
  if (machine_.destinations().epochs().empty()) return;
  v1::Control message;
  slice_codec::encode(machine_.destinations(), *message.mutable_destinations());
  peer.send(message);
}

void Dispatch::send_absences(sessions::Peer& peer) const {
  if (machine_.absences().number() == 0) return;
  v1::Control message;
  slice_codec::encode(machine_.absences().ranges(), *message.mutable_absences());
  peer.send(message);
}

void Dispatch::welcome(RosterMember& member, UtcNs begun_utc_ns) const {
  greet(member, begun_utc_ns);
  bring_up_to_date(member);
}

void Dispatch::greet(const RosterMember& member, UtcNs begun_utc_ns) const {
  send_begin(member, begun_utc_ns, !member.stood_still);
  if (member.role != Role::writer) send_destinations(*member.peer);
  if (member.role == Role::dcm) send_absences(*member.peer);
}

void Dispatch::bring_up_to_date(RosterMember& member) const {
  const bool missed_some = std::exchange(member.welcome, Welcome::none) == Welcome::open_slices;
  if (missed_some && member.role == Role::readout) send_open_slices(member);
}

// A process that did not receive the message over an earlier connection has missed nothing.
void Dispatch::send_begin(const RosterMember& member, UtcNs begun_utc_ns, bool on) const {
  v1::Control message;
  v1::BeginRun& begin = *message.mutable_begin_run();
  begin.set_run(settings_.run.value);
  begin.set_utc_ns(begun_utc_ns);
  begin.set_on(on);
  if (settings_.ids_ascend) {
    begin.set_first_slice(member.first_slice);
  } else if (member.role == Role::readout && member.first_order.value > 0) {
    for (const assignment::Announcement& one : machine_.open_slices()) {
      if (one.order < member.first_order) begin.add_before(one.slice.value);
    }
    // They are requested without ever being announced to this process.
    for (const SliceId slice : machine_.settled_and_built()) begin.add_before(slice.value);
  }
  member.peer->send(message);
}

void Dispatch::send_end(sessions::Peer& peer) {
  v1::Control message;
  message.mutable_end_run()->set_shutdown(true);
  peer.send(message);
}

}  // namespace weir::supervisor
