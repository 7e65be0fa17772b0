// What the supervisor's machine wants done, as messages.
#include "supervisor_node.hpp"
#include <weir/base/planted.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace weir::supervisor {
namespace {

// Rows of one message: bounds what a receiver has to take in one piece.
constexpr int kRowsMax = 16384;
constexpr std::size_t kPayloadBytesMax = 1U << 20;   // triggers' payloads in one message
constexpr std::size_t kUnsentMax = 256U << 20;       // bytes that wait for one node
constexpr std::size_t kWatcherUnsentMax = 4U << 20;  // ... for one who watches

}  // namespace

void SupervisorNode::send_to(Role role, const v1::Control& message) {
  for (Member& member : roster_.members()) {
    if (member.role == role && member.peer != nullptr) send_to(member, message);
  }
}

void SupervisorNode::send_to(Member& member, const v1::Control& message) {
  member.peer->send(message);
  // Somebody who takes nothing for so long is not there.
  if (member.peer->unsent_bytes() > kUnsentMax) member.peer->drop("does not read what it is sent");
}

template <class Row>
std::vector<Row> SupervisorNode::own_part(const Member& readout, std::span<const Row> rows) const {
  std::vector<Row> own;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
               [&](const Row& row) { return !machine_.absences().covers(readout.index, row.slice); });
  return own;
}

void SupervisorNode::carry_out() {
  journal_.write_pass(actions_, machine_.ledger());
  if (!journal_.waits()) send_actions();
}

void SupervisorNode::send_actions() {
  if (actions_.empty()) return;
  if (!actions_.announce.empty()) send_announcements();
  if (!actions_.judged.empty()) send_verdicts();
  for (const NodeIndex index : actions_.touched) {
    Member* member = roster_.find(Role::dcm, index);
    if (member == nullptr || member->peer == nullptr) continue;
    assignment::DcmActions& actions = actions_.of(index);
    send_assignments(*member, actions);
    send_confirmations(*member, actions);
  }
  if (!actions_.cleared.empty() || !actions_.copies.empty()) send_cleared();
  for (const assignment::NodeRef node : actions_.leaving) let_go(node);
  actions_.clear();
}

// Before any slice of a new epoch is announced or assigned.
void SupervisorNode::tell_destinations() {
  const std::uint32_t number = machine_.destinations().number();
  if (std::exchange(destinations_told_, number) == number) return;
  for (Member& member : roster_.members()) {
    if (member.role != Role::writer && member.peer != nullptr) send_destinations(*member.peer);
  }
}

void SupervisorNode::send_destinations(messages::Peer& peer) {
  v1::Control message;
  for (const assignment::DestinationEpoch& epoch : machine_.destinations().epochs()) {
    v1::Destinations::Epoch& out = *message.mutable_destinations()->add_epochs();
    out.set_number(epoch.number);
    out.set_from_slice(epoch.from.value);
    for (const NodeIndex dcm : epoch.dcms) out.add_dcm(dcm.value);
  }
  if (message.has_destinations()) peer.send(message);
}

void SupervisorNode::send_announcements() {
  if (first_trigger_ns_ == 0) first_trigger_ns_ = now_ns_;
  for (const assignment::Announcement& one : actions_.announce)
    next_slice_ = std::max(next_slice_, one.slice.value + 1);
  if (machine_.absences().ranges().empty()) {
    each_announcement(actions_.announce, false,
                      [this](const v1::Control& message) { send_to(Role::readout, message); });
    return;
  }
  for (Member& member : roster_.members()) {
    if (member.role != Role::readout || member.peer == nullptr) continue;
    each_announcement(own_part<assignment::Announcement>(member, actions_.announce), false,
                      [&member](const v1::Control& message) {
                        if (member.peer != nullptr) send_to(member, message);
                      });
  }
}

// To a readout whose connection was lost: what it may not have heard of, and what it need not keep.
void SupervisorNode::send_open_slices(const Member& member) {
  messages::Peer& peer = *member.peer;
  const std::vector<assignment::Announcement> open =
      own_part<assignment::Announcement>(member, machine_.open_slices());
  each_announcement(open, true, [&peer](const v1::Control& message) { peer.send(message); });
  v1::Control message;
  v1::OpenSlices& slices = *message.mutable_open_slices();
  for (const assignment::Announcement& one : open) slices.add_slice(one.slice.value);
  peer.send(message);
}

template <class Send>
void SupervisorNode::each_announcement(std::span<const assignment::Announcement> announcements, bool again,
                                       Send send) {
  v1::Control message;
  v1::Announce& announce = *message.mutable_announce();
  const bool typed = std::any_of(announcements.begin(), announcements.end(),
                                 [](const auto& one) { return one.info.type.value != 0; });
  for (const assignment::Announcement& one : announcements) {
    announce.add_slice(one.slice.value);
    announce.add_time_ns(one.info.time);
    if (typed) announce.add_type(one.info.type.value);
    announce.set_duration_ns(one.info.duration);
    announce.set_again(again);
    if (machine_.destinations().number() > 0) announce.set_utc_ns(environment_.clock.utc_ns());
    if (announce.slice_size() < kRowsMax) continue;
    send(message);
    announce.Clear();
  }
  if (announce.slice_size() > 0) send(message);
}

void SupervisorNode::send_assignments(Member& member, assignment::DcmActions& actions) {
  if (actions.assign.empty()) return;
  bool typed = false;
  bool again = false;
  for (const assignment::Assignment& one : actions.assign) {
    typed = typed || one.info.type.value != 0;
    again = again || one.attempt.value != 0;
  }
  v1::Control message;
  v1::Assign& assign = *message.mutable_assign();
  std::size_t payload_bytes = 0;
  for (const assignment::Assignment& one : actions.assign) {
    if (payload_bytes >= kPayloadBytesMax) {
      member.peer->send(message);
      assign.Clear();
      payload_bytes = 0;
    }
    const auto row = static_cast<std::uint32_t>(assign.slice_size());
    assign.add_slice(one.slice.value);
    assign.add_time_ns(one.info.time);
    if (again) assign.add_attempt(one.attempt.value);
    if (typed) assign.add_type(one.info.type.value);
    assign.set_duration_ns(one.info.duration);
    if (one.unfiltered) assign.add_unfiltered(row);
    if (one.suspect) assign.add_suspect(row);
    if (one.payload_length == 0) continue;
    const auto bytes = actions_.payload_of(one);
    v1::Assign::Payload& payload = *assign.add_payload();
    payload.set_index(row);
    payload.set_bytes(bytes.data(), bytes.size());
    payload_bytes += bytes.size();
  }
  member.peer->send(message);
}

void SupervisorNode::send_confirmations(Member& member, assignment::DcmActions& actions) {
  if (actions.confirm.empty()) return;
  v1::Control message;
  v1::Confirm& confirm = *message.mutable_confirm();
  for (const assignment::Confirmation& one : actions.confirm) {
    confirm.add_slice(one.slice.value);
    confirm.add_attempt(one.attempt.value);
    const bool store = one.answer == assignment::Answer::store;
    confirm.add_code(one.answer == assignment::Answer::refused ? v1::CONFIRMATION_REFUSED
                     : store                                   ? v1::CONFIRMATION_STORE
                                                               : v1::CONFIRMATION_SETTLED);
    confirm.add_epoch(one.epoch.value);
    confirm.add_writer(store ? one.writer.value : 0);
  }
  member.peer->send(message);
}

void SupervisorNode::send_clear() {
  const auto message_of = [](std::span<const assignment::Cleared> rows) {
    v1::Control message;
    for (const assignment::Cleared& one : rows) {
      const bool forgotten = planted(Planted::forget_clear) && one.slice.value % 8 == 6;
      if (!forgotten) message.mutable_clear()->add_slice(one.slice.value);
    }
    return message;
  };
  const bool for_all = machine_.absences().ranges().empty();
  v1::Control message = message_of(actions_.cleared);
  for (Member& member : roster_.members()) {
    if (member.role != Role::readout || member.peer == nullptr) continue;
    if (!for_all) message = message_of(own_part<assignment::Cleared>(member, actions_.cleared));
    if (message.has_clear()) send_to(member, message);
  }
}

void SupervisorNode::send_cleared() {
  last_settled_ns_ = now_ns_;
  v1::Control settled;
  v1::Settled& rows = *settled.mutable_settled();
  for (const assignment::Cleared& one : actions_.cleared) {
    rows.add_slice(one.slice.value);
    rows.add_attempt(one.attempt.value);
    rows.add_epoch(one.epoch.value);
    rows.add_writer(one.writer.value);
    rows.add_outcome(static_cast<std::uint32_t>(one.outcome));
  }
  send_clear();
  for (Member& member : roster_.members()) {
    if (member.role != Role::writer || member.peer == nullptr) continue;
    rows.clear_copies();
    for (const assignment::CopyNotice& notice : actions_.copies) {
      if (notice.writer != member.index) continue;
      v1::Settled::Copy& copy = *rows.add_copies();
      copy.set_slice(notice.slice.value);
      copy.set_attempt(notice.attempt.value);
      copy.set_epoch(notice.epoch.value);
      copy.set_live(notice.live);
    }
    member.peer->send(settled);
  }
}

void SupervisorNode::send_directory() {
  directory_changed_ = false;
  v1::Control message;
  for (const Member& member : roster_.members()) {
    if (member.role == Role::dcm) continue;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(static_cast<v1::Role>(member.role));
    node.set_index(member.index.value);
    node.set_name(member.name);
    node.set_present(member.peer != nullptr);
    node.set_incarnation(member.incarnation.value);
    if (member.peer == nullptr) continue;
    const messages::PeerInfo& info = member.peer->info();
    node.set_host(info.listen.host);
    node.set_port(info.listen.port);
    for (const SourceId source : info.sources) node.add_sources(source.value);
  }
  send_to(Role::dcm, message);
}

// The window belongs to the port. Who is alone at a port is not told.
void SupervisorNode::share_ports() {
  ports_changed_ = false;
  for (Member& member : roster_.members()) {
    if (member.role != Role::dcm || member.peer == nullptr) continue;
    const PortShare share = roster_.share_of(member);
    if (share == member.share_sent || (share.members == 1 && member.share_sent.members <= 1)) continue;
    member.share_sent = share;
    v1::Control message;
    message.mutable_port_share()->set_members(share.members);
    message.mutable_port_share()->set_base_ns(static_cast<std::int64_t>(share.base_us * kMicrosecond));
    member.peer->send(message);
  }
}

void SupervisorNode::send_status() {
  // A change of state is told at once: who watches must not take a process that dies in the run for one that
  // never came.
  if (watchers_.empty() && setup_.reports == nullptr) return;
  if (now_ns_ < next_status_ns_ && state_ == told_state_) return;
  told_state_ = state_;
  next_status_ns_ = now_ns_ + setup_.farm.supervisor().status_interval_ms() * kMillisecond;
  constexpr const char* kStates[] = {"gathering", "running", "draining", "reporting", "done"};
  v1::Control message;
  v1::FarmStatus& status = *message.mutable_status();
  status.set_state(state_ == State::running && machine_.paused() ? "paused"
                                                                 : kStates[static_cast<std::size_t>(state_)]);
  status.set_run_ns(begun_ns_ == 0 ? 0 : now_ns_ - begun_ns_);
  for (const Member& member : roster_.members()) {
    if (!member.has_report) continue;
    v1::Report& report = *status.add_nodes();
    report = member.report;
    report.set_state(state_of(member));
  }
  v1::Report& own = *status.add_nodes();
  own = make_report(false);
  (*own.mutable_notes())["run"] = status.state();
  (*own.mutable_notes())["run_ns"] = std::to_string(status.run_ns());
  if (setup_.reports != nullptr) setup_.reports->take(own);
  for (messages::Peer* watcher : watchers_) {
    if (watcher->unsent_bytes() < kWatcherUnsentMax) watcher->send(message);
  }
}

}  // namespace weir::supervisor
