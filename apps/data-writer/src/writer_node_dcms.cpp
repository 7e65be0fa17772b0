// WriterNode: records from DCMs, acknowledgements and refusals.
#include "writer_node.hpp"
#include <weir/base/figures.hpp>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <new>
#include <utility>

namespace weir::writer {

std::string WriterNode::check_hello(const sessions::PeerInfo& info) {
  if (info.role == Role::dcm || info.role == Role::supervisor) return {};
  return "'" + info.name + "' is a " + std::string(name(info.role)) + ", which a writer does not accept";
}

void WriterNode::on_ready(sessions::Peer& peer) {
  const storage::PeerId id(++last_connection_);
  if (!(peer.info().burst ? burst_grants_ : grants_).connect(id)) return peer.drop("too many DCMs");
  peer.tag = id.value;
  Connection& connection = connections_[peer.tag];
  connection.burst = peer.info().burst;
  connection.peer = &peer;
  connection.id = id;
  if (connection.burst && burst_leaving_.has_begun()) tell_leaving(peer);
  spdlog::info("connected name={} peer={}", peer.info().name, peer.stream().peer());
}

void WriterNode::on_gone(sessions::Peer& peer, std::string_view why) {
  const auto found = connections_.find(peer.tag);
  if (found == connections_.end()) {
    if (!peer.was_ready()) refusals_.note(peer, why, now_ns_);
    return;
  }
  spdlog::info("disconnected name={} reason=\"{}\"", peer.info().name, why);
  storage::GrantBook& grants = grants_of(found->second);
  if (found->second.record_bytes > 0) grants.release(found->second.id, found->second.record_bytes);
  grants.disconnect(found->second.id);
  connections_.erase(found);
}

// The first piece charges the whole record, so that a record that has begun can always be completed.
bool WriterNode::begin_record(Connection& connection, const wire::FrameHeader& header) {
  const wire::RecordPiece piece = wire::record_piece(header);
  const std::uint64_t bytes = piece.total == 0 ? header.length : piece.total;
  if (piece.offset != 0 || !grants_of(connection).received(connection.id, bytes)) return false;
  connection.record_bytes = bytes;
  connection.record_here = 0;
  connection.slice = header.slice;
  connection.attempt = header.attempt;
  try {
    connection.record = std::make_shared_for_overwrite<std::byte[]>(bytes);
  } catch (const std::bad_alloc&) {
    connection.record = nullptr;  // read past, and refused
  }
  return true;
}

wire::PayloadPlace WriterNode::on_header(sessions::Peer& peer, const wire::FrameHeader& header) {
  if (header.type != wire::FrameType::data || header.length == 0) return {};
  Connection& connection = connection_of(peer);
  if (connection.record_bytes == 0) {
    if (!begin_record(connection, header)) return {};  // memory is filled with a grant alone
  } else {
    const wire::RecordPiece next{connection.record_bytes, connection.record_here};
    const bool fits = wire::record_piece(header) == next && header.slice == connection.slice &&
                      header.attempt == connection.attempt;
    if (!fits) return {};
  }
  if (!connection.record) return {wire::PayloadPlace::Kind::discard, nullptr};
  return {wire::PayloadPlace::Kind::place, connection.record.get() + connection.record_here};
}

Expected<void, wire::WireError> WriterNode::on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                                     ConstBytes) {
  Connection& connection = connection_of(peer);
  connection.record_here += header.length;
  if (connection.record_here == connection.record_bytes) take_record(connection, peer);
  return {};
}

void WriterNode::take_record(Connection& connection, const sessions::Peer& peer) {
  const std::shared_ptr<std::byte[]> record = std::exchange(connection.record, nullptr);
  ++connection.records;
  if (!record) {
    ++no_memory_;
    refuse(connection, peer, storage::StoreResult::no_memory);
  } else {
    const ConstBytes bytes(record.get(), connection.record_bytes);
    const auto result = connection.burst
                            ? bursts_.store(connection.alert, bytes, record, connection.id.value, now_ns_)
                            : store_.store(bytes, record, connection.id.value, now_ns_);
    if (storage::is_refusal(result)) refuse(connection, peer, result);
  }
  connection.record_bytes = 0;
}

void WriterNode::refuse(Connection& connection, const sessions::Peer& peer, storage::StoreResult reason) {
  constexpr std::uint64_t kLoggedMax = 20;
  constexpr std::uint64_t kLoggedOneIn = 1000;
  grants_of(connection).release(connection.id, connection.record_bytes);
  connection.refused.push_back({connection.records, reason});
  if (++refused_ > kLoggedMax && refused_ % kLoggedOneIn != 0) return;
  spdlog::warn("record refused slice={} attempt={} from={} reason={} bytes={} refused={}",
               connection.slice.value, connection.attempt.value, peer.info().name, storage::name(reason),
               connection.record_bytes, refused_);
}

Expected<void, wire::WireError> WriterNode::on_control(sessions::Peer& peer, const v1::Control& message) {
  Connection& connection = connection_of(peer);
  if (message.has_burst_next() && connection.burst && connection.record_bytes == 0) {
    connection.alert = message.burst_next().number();
    bursts_.prepare(connection.alert, now_ns_);
    return {};
  }
  if (message.has_burst_leave() && connection.burst) {
    burst_leaving_.note_left(peer.info().index);
    return {};
  }
  if (!message.has_space()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  const storage::PeerId id = connection.id;
  storage::GrantBook& grants = grants_of(connection);
  if (connection.burst) burst_leaving_.note_records(peer.info().index);
  if (!grants.ask(id, message.space().wanted_total()) ||
      !grants.give_back(id, message.space().returned_total())) {
    return Unexpected<wire::WireError>(wire::WireError::bad_payload);
  }
  return {};
}

void WriterNode::send_grants() {
  if (!blocked_.empty()) return;
  send_new_grants(grants_);
  if (!bursts_.is_opening()) send_new_grants(burst_grants_);
}

void WriterNode::send_new_grants(storage::GrantBook& book) {
  new_grants_.clear();
  book.grant(new_grants_);
  for (const storage::Grant& grant : new_grants_) {
    v1::Control message;
    message.mutable_grant()->set_granted_total(grant.granted_total);
    connections_.at(grant.peer.value).peer->send(message);
  }
}

void WriterNode::send_acknowledgements() {
  std::vector<std::byte> frames;
  for (auto& [tag, connection] : connections_) {
    if (connection.acknowledged.empty()) continue;
    frames.clear();
    wire::append_slice_entries(wire::FrameType::stored, connection.acknowledged, frames);
    connection.peer->stream().append(frames);
    connection.acknowledged.clear();
  }
  for (auto& [tag, connection] : connections_) {
    for (const auto& [alert, slices] : connection.burst_stored) {
      v1::Control message;
      message.mutable_burst_stored()->set_number(alert);
      for (const SliceId slice : slices) message.mutable_burst_stored()->add_slice(slice.value);
      connection.peer->send(message);
    }
    connection.burst_stored.clear();
  }
  if (acknowledged_.empty() || !supervisor_.ready()) return;
  frames.clear();
  wire::append_slice_entries(wire::FrameType::stored, acknowledged_, frames);
  supervisor_.peer().stream().append(frames);
  acknowledged_.clear();
}

void WriterNode::send_refusals() {
  for (auto& [tag, connection] : connections_) {
    if (connection.refused.empty()) continue;
    v1::Control message;
    for (const Refusal& refusal : connection.refused) {
      v1::Refused::One& one = *message.mutable_refused()->add_records();
      one.set_record(refusal.record);
      one.set_reason(std::string(storage::name(refusal.reason)));
      one.set_again(storage::is_passing(refusal.reason));
    }
    connection.peer->send(message);
    connection.refused.clear();
  }
}

}  // namespace weir::writer
