#include "outlet.hpp"

#include "node_link.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

// Small records share a request for space, which a writer grants as a whole.
constexpr std::uint64_t kAskBytes = 1U << 20;
// A longer record goes in pieces, so that its length has no limit that a frame's has.
constexpr std::uint64_t kPieceBytes = 4U << 20;

}  // namespace

Outlet::Outlet(const sessions::PeerInfo& self, const sessions::PeerLimits& limits,
               sessions::PeerCounters& counters, DurationNs retry_ns, DurationNs silence_ns,
               std::size_t writers, assembly::SliceTable& slices, OutletEvents& events)
    : self_(self),
      limits_(limits),
      counters_(counters),
      retry_ns_(retry_ns),
      slices_(slices),
      events_(events) {
  for (std::size_t i = 0; i < writers; ++i) writers_.push_back(std::make_unique<Writer>(silence_ns));
}

Outlet::Writer& Outlet::writer(NodeIndex index) {
  WEIR_ASSERT(index.value < writers_.size());
  return *writers_[index.value];
}

void Outlet::set_writer(NodeIndex index, const ports::Endpoint& at) {
  link_to(writer(index).link, Role::writer, index, at, {self_, *this, limits_, counters_, retry_ns_});
}

void Outlet::ship(BuiltSlice& slice) {
  drop(slice);
  Writer& to = writer(slice.shipment.writer);
  to.queue.push_back(slice);
  want(to, slice.shipment.bytes);
}

void Outlet::want(Writer& to, std::uint64_t bytes) {
  const std::uint64_t before = to.wanted_total;
  to.wanted_total += bytes;
  const std::uint64_t last_but_one = to.asks.size() < 2 ? 0 : to.asks[to.asks.size() - 2];
  if (!to.asks.empty() && to.asks.back() == before && to.wanted_total - last_but_one <= kAskBytes) {
    to.asks.back() = to.wanted_total;
  } else {
    to.asks.push_back(to.wanted_total);
  }
}

void Outlet::tick(ports::Network& network, TimeNs now_ns) {
  now_ns_ = now_ns;
  for (const auto& to : writers_) {
    if (!to->link) continue;
    to->link->tick(network, now_ns);
    if (!to->link->ready()) continue;
    offer_again(*to);
    send_granted(*to);
    send_asks(*to);
  }
}

void Outlet::look(TimeNs now_ns, bool ending, const std::function<void(std::uint32_t)>& lost) {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    Writer& to = *writers_[i];
    if (!to.link) continue;
    log_if_due(to.loss, ending, false, now_ns);
    const bool ready = to.link->ready();
    const std::uint64_t bytes = ready ? to.link->peer().stream().bytes_received() : 0;
    if (to.probe.look(ready, bytes, now_ns)) to.link->peer().ask_if_alive();
    if (to.probe.is_lost()) lost(static_cast<std::uint32_t>(i));
  }
}

void Outlet::send_granted(Writer& to) {
  while (!to.queue.empty()) {
    BuiltSlice& slice = to.queue.front();
    if (to.sent_total + slice.shipment.bytes > to.granted_total) break;
    to.sent_total += slice.shipment.bytes;
    slice.shipment.number = ++to.sent;
    to.queue.pop_front();
    send_record(to.link->peer(), slice);
  }
  // The next record's own space is not granted yet: the remaining grant belongs to dropped records, and other
  // DCMs wait for it.
  WEIR_ASSERT(to.sent_total <= to.granted_total);
  to.returned_total += to.granted_total - to.sent_total;
  to.sent_total = to.granted_total;
}

void Outlet::send_asks(Writer& to) {
  if (to.asks.empty() && to.returned_total != to.told_returned) to.asks.push_back(to.wanted_total);
  to.told_returned = to.returned_total;
  for (const std::uint64_t total : to.asks) {
    v1::Control message;
    message.mutable_space()->set_wanted_total(total);
    message.mutable_space()->set_returned_total(to.returned_total);
    to.link->peer().send(message);
  }
  to.asks.clear();
}

void Outlet::offer_again(Writer& to) {
  while (!to.later.empty() && to.later.front().shipment.due_ns <= now_ns_) {
    BuiltSlice& slice = to.later.front();
    to.later.pop_front();
    slice.shipment.number = 0;
    to.queue.push_back(slice);
    want(to, slice.shipment.bytes);
  }
}

void Outlet::send_record(sessions::Peer& peer, BuiltSlice& slice) const {
  ports::Stream& stream = peer.stream();
  const assembly::Shipment& shipment = slice.shipment;
  const std::shared_ptr<const void> memory = slice.memory.share();
  const std::uint64_t piece_bytes = std::min<std::uint64_t>(kPieceBytes, limits_.frame_bytes_max);
  const bool whole = shipment.bytes <= piece_bytes;
  std::uint64_t offset = 0;    // in the record
  std::uint64_t in_piece = 0;  // left of the piece that has begun
  // Calls `append` with as much of the part as belongs to each piece.
  const auto cut = [&](ConstBytes part, const auto& append) {
    while (!part.empty()) {
      if (in_piece == 0) {
        in_piece = std::min(piece_bytes, shipment.bytes - offset);
        const wire::RecordPiece piece =
            whole ? wire::RecordPiece{} : wire::RecordPiece{shipment.bytes, offset};
        const Bytes head = stream.reserve(wire::kHeaderBytes);
        wire::encode_header(
            wire::data_header(slice.id(), slice.attempt(), static_cast<std::uint32_t>(in_piece), piece),
            head.first<wire::kHeaderBytes>());
      }
      const ConstBytes some = part.first(std::min<std::uint64_t>(part.size(), in_piece));
      append(some);
      part = part.subspan(some.size());
      offset += some.size();
      in_piece -= some.size();
    }
  };
  cut(shipment.meta, [&](ConstBytes bytes) { stream.append(bytes); });
  for (const ConstBytes payload : shipment.payloads)
    cut(payload, [&](ConstBytes bytes) { stream.append_reference(bytes, memory); });
  WEIR_ASSERT(offset == shipment.bytes && in_piece == 0);
}

void Outlet::on_ready(sessions::Peer& peer) {
  Writer& to = writer(NodeIndex(static_cast<std::uint16_t>(peer.tag)));
  to.probe.begin_anew();
  log_if_due(to.loss, false, true, now_ns_);
  spdlog::info("writer connected name={} peer={}", peer.info().name, peer.stream().peer());
  requeue(to, peer.tag);
}

void Outlet::requeue(Writer& to, std::size_t index) {
  to.queue.clear();
  to.asks.clear();
  to.later.clear();
  to.wanted_total = to.granted_total = to.sent_total = to.returned_total = to.told_returned = to.sent = 0;
  if (planted(Planted::forget_shipment)) return;
  slices_.for_each_in(BuildState::storing, [&](BuiltSlice& slice) {
    if (slice.shipment.writer.value != index) return;
    slice.shipment.sent_before = slice.shipment.sent_before || slice.shipment.number != 0;
    slice.shipment.number = 0;
    to.queue.push_back(slice);
  });
  to.queue.sort([](const BuiltSlice& a, const BuiltSlice& b) { return a.id() < b.id(); });
  for (const BuiltSlice& slice : to.queue) want(to, slice.shipment.bytes);
}

void Outlet::on_gone(sessions::Peer& peer, std::string_view why) {
  if (peer.was_ready()) {
    Writer& to = writer(NodeIndex(static_cast<std::uint16_t>(peer.tag)));
    to.loss.lost(fmt::format("writer lost name={} reason=\"{}\"", peer.info().name, why), now_ns_);
  }
  if (!peer.was_ready() && peer.was_refused()) refusals_.note(peer, why, now_ns_);
}

wire::PayloadPlace Outlet::on_header(sessions::Peer&, const wire::FrameHeader& header) {
  if (header.type != wire::FrameType::stored) return {};
  return {wire::PayloadPlace::Kind::whole, nullptr};
}

Expected<void, wire::WireError> Outlet::on_frame(sessions::Peer&, const wire::FrameHeader& header,
                                                 ConstBytes payload) {
  if (!wire::payload_checksum_good(header, payload))
    return Unexpected<wire::WireError>(wire::WireError::bad_checksum);
  const auto entries = wire::parse_slice_entries(payload);
  if (!entries) return Unexpected<wire::WireError>(entries.error());
  for (const wire::CopyId& entry : *entries) {
    BuiltSlice* slice = slices_.find(entry.slice, entry.attempt);
    if (slice == nullptr || slice->state() != BuildState::storing || slice->shipment.epoch != entry.epoch)
      continue;  // an earlier copy
    drop(*slice);
    events_.on_stored(*slice);
  }
  return {};
}

Expected<void, wire::WireError> Outlet::on_control(sessions::Peer& peer, const v1::Control& message) {
  Writer& to = writer(NodeIndex(static_cast<std::uint16_t>(peer.tag)));
  if (message.has_refused()) {
    take_refusal(to, peer.tag, message.refused());
    return {};
  }
  if (!message.has_grant()) return Unexpected<wire::WireError>(wire::WireError::not_expected);
  to.granted_total = std::max(to.granted_total, message.grant().granted_total());
  return {};
}

// Looks through all shipments: refusals are rare, and a table of numbers would cost every record.
void Outlet::take_refusal(Writer& from, std::size_t index, const v1::Refused& refused) {
  for (const v1::Refused::One& one : refused.records()) {
    BuiltSlice* slice = slices_.find_in(BuildState::storing, [&](const BuiltSlice& sent) {
      return sent.shipment.writer.value == index && sent.shipment.number != 0 &&
             sent.shipment.number == one.record();
    });
    if (slice == nullptr) continue;  // given to another writer since, or given up
    const storage::StoreResult reason = storage::store_result(one.reason());
    ++refused_[static_cast<std::size_t>(reason)];
    if (!one.again()) {
      events_.on_refused(*slice, reason);
    } else if (!slice->is_in_line()) {
      slice->shipment.due_ns = now_ns_ + retry_ns_;
      from.later.push_back(*slice);
    }
  }
}

}  // namespace weir::dcm
