#include "dcm_links.hpp"

#include <weir/base/assert.hpp>
#include <weir/node/refused.hpp>
#include <weir/v1/control.pb.h>

#include <spdlog/spdlog.h>

#include <new>
#include <utility>

namespace weir::writer {
namespace {

constexpr std::size_t kPeersMax = 4096;
constexpr std::size_t kAsksMax = 65535;

void tell_leaving(sessions::Peer& peer) {
  v1::Control message;
  message.mutable_burst_leave();
  peer.send(message);
}

}  // namespace

DcmLinks::DcmLinks(const DcmLinksSettings& settings, const sessions::PeerInfo& identity,
                   const sessions::PeerLimits& limits, sessions::PeerCounters& counters,
                   RecordHandler& records)
    : records_(records),
      grants_(settings.grant_bytes, kPeersMax, kAsksMax),
      burst_grants_(settings.burst_grant_bytes, kPeersMax, kAsksMax),
      listener_(identity, *this, limits, counters, now_ns_) {}

void DcmLinks::tick(TimeNs now_ns) {
  now_ns_ = now_ns;
  listener_.tick();
}

void DcmLinks::begin_leaving(TimeNs now_ns) {
  burst_leaving_.begin(now_ns);
  for (const auto& [tag, connection] : connections_) {
    if (connection.burst) tell_leaving(*connection.peer);
  }
}

std::string DcmLinks::check_hello(const sessions::PeerInfo& info) {
  if (info.role == Role::dcm || info.role == Role::supervisor) return {};
  return "'" + info.name + "' is a " + std::string(name(info.role)) + ", which a writer does not accept";
}

void DcmLinks::on_ready(sessions::Peer& peer) {
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

void DcmLinks::on_gone(sessions::Peer& peer, std::string_view why) {
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
bool DcmLinks::begin_record(Connection& connection, const wire::FrameHeader& header) {
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

wire::PayloadPlace DcmLinks::on_header(sessions::Peer& peer, const wire::FrameHeader& header) {
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

Expected<void, wire::WireError> DcmLinks::on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                                   ConstBytes) {
  Connection& connection = connection_of(peer);
  connection.record_here += header.length;
  WEIR_ASSERT(connection.record_here <= connection.record_bytes);
  if (connection.record_here == connection.record_bytes) take_record(connection, peer);
  return {};
}

void DcmLinks::take_record(Connection& connection, const sessions::Peer& peer) {
  WEIR_ASSERT(connection.record_bytes > 0 && connection.record_here == connection.record_bytes);
  const std::shared_ptr<std::byte[]> record = std::exchange(connection.record, nullptr);
  ++connection.records;
  if (!record) {
    ++no_memory_;
    refuse(connection, peer, storage::StoreResult::no_memory);
  } else {
    const auto alert = connection.burst ? std::optional(connection.alert) : std::nullopt;
    const auto result =
        records_.on_record({connection.id.value, alert, {record.get(), connection.record_bytes}, record});
    if (storage::is_refusal(result)) refuse(connection, peer, result);
  }
  connection.record_bytes = 0;
}

void DcmLinks::refuse(Connection& connection, const sessions::Peer& peer, storage::StoreResult reason) {
  constexpr std::uint64_t kLoggedMax = 20;
  constexpr std::uint64_t kLoggedOneIn = 1000;
  grants_of(connection).release(connection.id, connection.record_bytes);
  connection.refused.push_back({connection.records, reason});
  if (++refused_ > kLoggedMax && refused_ % kLoggedOneIn != 0) return;
  spdlog::warn("record refused slice={} attempt={} from={} reason={} bytes={} refused={}",
               connection.slice.value, connection.attempt.value, peer.info().name, storage::name(reason),
               connection.record_bytes, refused_);
}

Expected<void, wire::WireError> DcmLinks::on_control(sessions::Peer& peer, const v1::Control& message) {
  Connection& connection = connection_of(peer);
  if (message.has_burst_next() && connection.burst && connection.record_bytes == 0) {
    connection.alert = message.burst_next().number();
    records_.on_next_alert(connection.alert);
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
  if (!grants.ask(id, message.space().wanted_total())) return node::refused({"Space", "wanted_total", 0});
  if (!grants.give_back(id, message.space().returned_total()))
    return node::refused({"Space", "returned_total", 0});
  return {};
}

void DcmLinks::stored(std::span<const storage::StoredSlice> slices) {
  for (const storage::StoredSlice& stored : slices) {
    grants_.release(storage::PeerId(stored.origin), stored.bytes);
    const auto found = connections_.find(stored.origin);
    if (found != connections_.end())
      found->second.acknowledged.push_back({stored.slice, stored.attempt, stored.epoch});
  }
}

void DcmLinks::burst_stored(std::uint32_t alert, std::span<const storage::StoredSlice> slices) {
  for (const storage::StoredSlice& stored : slices) {
    burst_grants_.release(storage::PeerId(stored.origin), stored.bytes);
    const auto found = connections_.find(stored.origin);
    if (found != connections_.end()) found->second.burst_stored[alert].push_back(stored.slice);
  }
}

void DcmLinks::send_grants(bool bursts) {
  send_new_grants(grants_);
  if (bursts) send_new_grants(burst_grants_);
}

void DcmLinks::send_new_grants(storage::GrantBook& book) {
  new_grants_.clear();
  book.grant(new_grants_);
  for (const storage::Grant& grant : new_grants_) {
    v1::Control message;
    message.mutable_grant()->set_granted_total(grant.granted_total);
    connections_.at(grant.peer.value).peer->send(message);
  }
}

void DcmLinks::send_acknowledgements() {
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
}

void DcmLinks::send_refusals() {
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
