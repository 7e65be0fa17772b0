#include "messages_out.hpp"

#include <weir/base/planted.hpp>
#include <weir/node/columns.hpp>
#include <weir/node/setup.hpp>

#include <span>

namespace weir::supervisor {

using node::add;
using node::leave_out_zeros;

namespace {

v1::Confirmation code_of(slice_rows::Answer answer) {
  switch (answer) {
    case slice_rows::Answer::refused:
      return v1::CONFIRMATION_REFUSED;
    case slice_rows::Answer::settled:
      return v1::CONFIRMATION_SETTLED;
    case slice_rows::Answer::store:
      return v1::CONFIRMATION_STORE;
    case slice_rows::Answer::keep:
      return v1::CONFIRMATION_KEEP;
  }
  return v1::CONFIRMATION_REFUSED;
}

}  // namespace

void each_announcement(std::span<const assignment::Announcement> announcements, bool again,
                       std::optional<UtcNs> utc_ns, v1::Control& out, const SendMessage& send) {
  v1::Announce& announce = *out.mutable_announce();
  announce.Clear();
  const auto send_rows = [&] {
    leave_out_zeros(*announce.mutable_type());
    announce.set_again(again);
    if (utc_ns) announce.set_utc_ns(*utc_ns);
    send(out);
    announce.Clear();
  };
  for (const assignment::Announcement& one : announcements) {
    if (announce.slice_size() > 0 && announce.duration_ns() != one.info.duration) send_rows();
    announce.add_slice(one.slice.value);
    announce.add_time_ns(one.info.time);
    announce.add_type(one.info.type.value);
    announce.set_duration_ns(one.info.duration);
    if (announce.slice_size() >= kRowsMax) send_rows();
  }
  if (announce.slice_size() > 0) send_rows();
}

void each_assignment(std::span<const assignment::Assignment> assignments, const assignment::Actions& actions,
                     bool with_order, v1::Control& out, const SendMessage& send) {
  v1::Assign& assign = *out.mutable_assign();
  assign.Clear();
  std::size_t payload_bytes = 0;
  const auto send_rows = [&] {
    leave_out_zeros(*assign.mutable_attempt());
    leave_out_zeros(*assign.mutable_type());
    send(out);
    assign.mutable_payload()->DeleteSubrange(0, assign.payload_size());  // these may be large, and seldom
    assign.mutable_forwarded()->DeleteSubrange(0, assign.forwarded_size());
    assign.Clear();
    payload_bytes = 0;
  };
  for (const assignment::Assignment& one : assignments) {
    const bool same_length = assign.slice_size() == 0 || assign.duration_ns() == one.info.duration;
    if (payload_bytes >= kPayloadBytesMax || !same_length) send_rows();
    const auto row = static_cast<std::uint32_t>(assign.slice_size());
    assign.add_slice(one.slice.value);
    assign.add_time_ns(one.info.time);
    assign.add_attempt(one.attempt.value);
    assign.add_type(one.info.type.value);
    assign.set_duration_ns(one.info.duration);
    if (with_order) assign.add_order(one.order.value);
    if (one.unfiltered) assign.add_unfiltered(row);
    if (one.suspect) assign.add_suspect(row);
    if (one.kills > 0) assign.mutable_killed()->Resize(assign.killed_size() + one.kills, row);
    if (one.forwarded_length > 0) {
      const auto bytes = std::span(actions.payload).subspan(one.forwarded_offset, one.forwarded_length);
      v1::Assign::Forwarded& forwarded = *assign.add_forwarded();
      forwarded.set_index(row);
      forwarded.set_bytes(bytes.data(), bytes.size());
      payload_bytes += bytes.size();
    }
    if (one.kept_by != slice_rows::kNoNode) {
      v1::Assign::Kept& kept = *assign.add_kept();
      kept.set_index(row);
      kept.set_dcm(one.kept_by.value);
      kept.set_attempt(one.kept_attempt.value);
    }
    if (one.payload_length == 0) continue;
    const auto bytes = actions.payload_of(one);
    v1::Assign::Payload& payload = *assign.add_payload();
    payload.set_index(row);
    payload.set_bytes(bytes.data(), bytes.size());
    payload_bytes += bytes.size();
  }
  if (assign.slice_size() > 0) send_rows();
}

void put_confirmations(std::span<const assignment::Confirmation> rows, v1::Confirm& out) {
  out.Clear();
  std::string& codes = *out.mutable_code();
  for (const assignment::Confirmation& one : rows) {
    out.add_slice(one.slice.value);
    out.add_attempt(one.attempt.value);
    const bool store = one.answer == slice_rows::Answer::store;
    add(codes, code_of(one.answer));
    out.add_epoch(one.epoch.value);
    out.add_writer(store ? one.writer.value : 0);
  }
  leave_out_zeros(*out.mutable_attempt());
  leave_out_zeros(*out.mutable_epoch());
  leave_out_zeros(*out.mutable_writer());
}

void put_cleared(std::span<const assignment::Cleared> rows, bool with_stored, v1::ClearSlices& out) {
  out.Clear();
  for (const assignment::Cleared& one : rows) {
    const bool forgotten = planted(Planted::forget_clear) && one.slice.value % 8 == 6;
    if (forgotten) continue;
    out.add_slice(one.slice.value);
    if (with_stored && one.outcome == slice_rows::Outcome::stored) out.add_stored(one.slice.value);
  }
}

void put_settled(std::span<const assignment::Cleared> rows, v1::Settled& out) {
  out.Clear();
  std::string& outcomes = *out.mutable_outcome();
  for (const assignment::Cleared& one : rows) {
    out.add_slice(one.slice.value);
    out.add_attempt(one.attempt.value);
    out.add_epoch(one.epoch.value);
    out.add_writer(one.writer.value);
    add(outcomes, static_cast<int>(one.outcome));
  }
  leave_out_zeros(*out.mutable_attempt());
  leave_out_zeros(*out.mutable_epoch());
  leave_out_zeros(*out.mutable_writer());
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

v1::Control destinations(const slice_rows::DestinationTable& table) {
  v1::Control message;
  for (const slice_rows::DestinationEpoch& epoch : table.epochs()) {
    v1::Destinations::Epoch& out = *message.mutable_destinations()->add_epochs();
    out.set_number(epoch.number);
    out.set_from_slice(epoch.from.value);
    for (const NodeIndex dcm : epoch.dcms) out.add_dcm(dcm.value);
  }
  return message;
}

v1::Control directory(const Roster& roster, bool remote) {
  v1::Control message;
  for (const RosterMember& member : roster.members()) {
    if (member.role == Role::dcm && !member.keeps) continue;
    v1::Directory::Node& node = *message.mutable_directory()->add_nodes();
    node.set_role(static_cast<v1::Role>(member.role));
    node.set_index(member.index.value);
    node.set_name(member.name);
    node.set_present(member.peer != nullptr);
    node.set_incarnation(member.incarnation.value);
    if (member.peer == nullptr) continue;
    const ports::Endpoint at = remote && !member.announce.empty() ? node::parse_endpoint(member.announce)
                                                                  : member.peer->info().listen;
    node.set_host(at.host);
    node.set_port(at.port);
  }
  return message;
}

}  // namespace weir::supervisor
