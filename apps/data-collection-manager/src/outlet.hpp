#pragma once

#include <weir/base/ids.hpp>
#include <weir/messages/peer.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/ports/network.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace weir::dcm {

// A slice record on its way to a writer. `owner` keeps the payloads alive.
struct Shipment {
  SliceId slice;
  Attempt attempt;
  StoreEpoch epoch;
  NodeIndex writer;
  std::vector<std::byte> meta;
  std::vector<ConstBytes> payloads;
  std::shared_ptr<const void> owner;
  std::uint64_t bytes = 0;  // of the record
};

// The DCM's connections to the writers: asks for space, sends records as it is granted, keeps each until the
// writer has it on disk. After a loss everything unacknowledged is sent again; the writer knows what it has.
// Bounded by the slices that the DCM holds.
class Outlet final : public messages::PeerHandler {
 public:
  // `stored` is called for each slice that is on disk.
  Outlet(const messages::PeerInfo& self, const messages::PeerLimits& limits, messages::PeerCounters& counters,
         DurationNs retry_ns, std::function<void(SliceId, Attempt, StoreEpoch)> stored);

  void set_writer(NodeIndex index, const ports::Endpoint& at);
  // Replaces what there was of the same slice.
  void ship(Shipment shipment);
  void drop(SliceId slice);
  void tick(ports::Network& network, TimeNs now_ns);
  [[nodiscard]] std::size_t waiting() const { return shipments_.size(); }

 private:
  struct Writer {
    std::unique_ptr<messages::Link> link;
    std::deque<SliceId> queue;        // not sent on this connection
    std::vector<std::uint64_t> asks;  // totals to be asked for, each a record or a few
    std::uint64_t wanted_total = 0;   // these since the connection began, in bytes
    std::uint64_t granted_total = 0;
    std::uint64_t sent_total = 0;      // or given back
    std::uint64_t returned_total = 0;  // granted for records that were dropped before they were sent
    std::uint64_t told_returned = 0;
  };

  void on_ready(messages::Peer& peer) override;
  void on_gone(messages::Peer& peer, std::string_view why) override;
  wire::Placement on_header(messages::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(messages::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(messages::Peer& peer, const v1::Control& message) override;

  Writer& writer(NodeIndex index);
  void requeue(Writer& to, std::size_t index);
  static void want(Writer& to, std::uint64_t bytes);
  void send_granted(Writer& to);
  static void send_asks(Writer& to);
  static void send_record(messages::Peer& peer, const Shipment& shipment);

  const messages::PeerInfo& self_;
  const messages::PeerLimits& limits_;
  messages::PeerCounters& counters_;
  node::RefusalLog refusals_;
  TimeNs now_ns_ = 0;
  DurationNs retry_ns_;
  std::function<void(SliceId, Attempt, StoreEpoch)> stored_;
  std::vector<std::unique_ptr<Writer>> writers_;
  boost::unordered_flat_map<SliceId, Shipment, std::hash<SliceId>> shipments_;
};

}  // namespace weir::dcm
