#include "messages_out.hpp"

#include <weir/base/planted.hpp>

#include <algorithm>

namespace weir::supervisor {

void each_announcement(std::span<const assignment::Announcement> announcements, bool again,
                       std::optional<UtcNs> utc_ns, const SendMessage& send) {
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
    if (utc_ns) announce.set_utc_ns(*utc_ns);
    if (announce.slice_size() < kRowsMax) continue;
    send(message);
    announce.Clear();
  }
  if (announce.slice_size() > 0) send(message);
}

void each_assignment(std::span<const assignment::Assignment> assignments, const assignment::Actions& actions,
                     const SendMessage& send) {
  if (assignments.empty()) return;
  bool typed = false;
  bool again = false;
  for (const assignment::Assignment& one : assignments) {
    typed = typed || one.info.type.value != 0;
    again = again || one.attempt.value != 0;
  }
  v1::Control message;
  v1::Assign& assign = *message.mutable_assign();
  std::size_t payload_bytes = 0;
  for (const assignment::Assignment& one : assignments) {
    if (payload_bytes >= kPayloadBytesMax) {
      send(message);
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
    const auto bytes = actions.payload_of(one);
    v1::Assign::Payload& payload = *assign.add_payload();
    payload.set_index(row);
    payload.set_bytes(bytes.data(), bytes.size());
    payload_bytes += bytes.size();
  }
  send(message);
}

v1::Control confirmations(std::span<const assignment::Confirmation> rows) {
  v1::Control message;
  v1::Confirm& confirm = *message.mutable_confirm();
  for (const assignment::Confirmation& one : rows) {
    confirm.add_slice(one.slice.value);
    confirm.add_attempt(one.attempt.value);
    const bool store = one.answer == assignment::Answer::store;
    confirm.add_code(one.answer == assignment::Answer::refused ? v1::CONFIRMATION_REFUSED
                     : store                                   ? v1::CONFIRMATION_STORE
                                                               : v1::CONFIRMATION_SETTLED);
    confirm.add_epoch(one.epoch.value);
    confirm.add_writer(store ? one.writer.value : 0);
  }
  return message;
}

v1::Control clear(std::span<const assignment::Cleared> rows) {
  v1::Control message;
  for (const assignment::Cleared& one : rows) {
    const bool forgotten = planted(Planted::forget_clear) && one.slice.value % 8 == 6;
    if (!forgotten) message.mutable_clear()->add_slice(one.slice.value);
  }
  return message;
}

v1::Control settled(std::span<const assignment::Cleared> rows) {
  v1::Control message;
  v1::Settled& out = *message.mutable_settled();
  for (const assignment::Cleared& one : rows) {
    out.add_slice(one.slice.value);
    out.add_attempt(one.attempt.value);
    out.add_epoch(one.epoch.value);
    out.add_writer(one.writer.value);
    out.add_outcome(static_cast<std::uint32_t>(one.outcome));
  }
  return message;
}

void put_copies(std::span<const assignment::CopyNotice> copies, NodeIndex writer, v1::Settled& out) {
  out.clear_copies();
  for (const assignment::CopyNotice& notice : copies) {
    if (notice.writer != writer) continue;
    v1::Settled::Copy& copy = *out.add_copies();
    copy.set_slice(notice.slice.value);
    copy.set_attempt(notice.attempt.value);
    copy.set_epoch(notice.epoch.value);
    copy.set_live(notice.live);
    copy.set_settled(notice.settled);
  }
}

v1::Control destinations(const assignment::DestinationTable& table) {
  v1::Control message;
  for (const assignment::DestinationEpoch& epoch : table.epochs()) {
    v1::Destinations::Epoch& out = *message.mutable_destinations()->add_epochs();
    out.set_number(epoch.number);
    out.set_from_slice(epoch.from.value);
    for (const NodeIndex dcm : epoch.dcms) out.add_dcm(dcm.value);
  }
  return message;
}

v1::Control directory(const Roster& roster) {
  v1::Control message;
  for (const Member& member : roster.members()) {
    if (member.role == Role::dcm) continue;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(static_cast<v1::Role>(member.role));
    node.set_index(member.index.value);
    node.set_name(member.name);
    node.set_present(member.peer != nullptr);
    node.set_incarnation(member.incarnation.value);
    if (member.peer == nullptr) continue;
    const sessions::PeerInfo& info = member.peer->info();
    node.set_host(info.listen.host);
    node.set_port(info.listen.port);
    for (const SourceId source : info.sources) node.add_sources(source.value);
  }
  return message;
}

}  // namespace weir::supervisor
