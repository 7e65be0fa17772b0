#pragma once

#include "loss_note.hpp"
#include "pulse.hpp"
#include <weir/base/ids.hpp>
#include <weir/messages/peer.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/ports/network.hpp>
#include <weir/storage/run_store.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace weir::v1 {
class Refused;
}  // namespace weir::v1

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
  std::uint64_t bytes = 0;   // of the record
  std::uint64_t number = 0;  // its place among the records that were sent over the connection; 0: not sent
};

// What a DCM hears of its shipments.
class OutletEvents {
 public:
  virtual ~OutletEvents() = default;
  // It is on disk. The shipment is gone.
  virtual void on_stored(SliceId slice, Attempt attempt, StoreEpoch epoch) = 0;
  // The writer does not take it, and would not if it were sent again. The shipment is still there.
  virtual void on_refused(SliceId slice, Attempt attempt, storage::StoreResult reason) = 0;
};

// The DCM's connections to the writers: asks for space, sends records as it is granted, keeps each until the
// writer has it on disk. After a loss everything unacknowledged is sent again; the writer knows what it has.
// What it has no room for is offered again after a while. A record longer than a piece goes in pieces.
// Bounded by the slices that the DCM holds.
class Outlet final : public messages::PeerHandler {
 public:
  Outlet(const messages::PeerInfo& self, const messages::PeerLimits& limits, messages::PeerCounters& counters,
         DurationNs retry_ns, DurationNs silence_ns, std::size_t writers, OutletEvents& events);

  void set_writer(NodeIndex index, const ports::Endpoint& at);
  // Replaces what there was of the same slice.
  void ship(Shipment shipment);
  void drop(SliceId slice);
  // Those of the farm; every NodeIndex above is below.
  [[nodiscard]] std::size_t writers() const { return writers_.size(); }
  void tick(ports::Network& network, TimeNs now_ns);
  // Asks silent writers whether they are there. `lost` is called for each that is not reached.
  void look(TimeNs now_ns, bool ending, const std::function<void(std::uint32_t writer)>& lost);
  [[nodiscard]] std::size_t waiting() const { return shipments_.size(); }
  // Records, by storage::StoreResult, whether they are offered again or not.
  [[nodiscard]] const std::array<std::uint64_t, storage::kStoreResults>& refused() const { return refused_; }

 private:
  struct Later {
    SliceId slice;
    std::uint64_t number = 0;  // as it was sent
    TimeNs due_ns = 0;
  };
  struct Writer {
    explicit Writer(DurationNs silence_ns) : pulse(silence_ns) {}
    std::unique_ptr<messages::Link> link;
    std::uint64_t sent = 0;           // records, on this connection
    std::deque<Later> later;          // the writer had no room for them
    std::deque<SliceId> queue;        // not sent on this connection
    std::vector<std::uint64_t> asks;  // totals to be asked for, each a record or a few
    std::uint64_t wanted_total = 0;   // these since the connection began, in bytes
    std::uint64_t granted_total = 0;
    std::uint64_t sent_total = 0;      // or given back
    std::uint64_t returned_total = 0;  // granted for records that were dropped before they were sent
    std::uint64_t told_returned = 0;
    Pulse pulse;
    LossNote loss;
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
  void offer_again(Writer& to);
  void take_refusal(Writer& from, std::size_t index, const v1::Refused& refused);
  void send_record(messages::Peer& peer, const Shipment& shipment) const;

  const messages::PeerInfo& self_;
  const messages::PeerLimits& limits_;
  messages::PeerCounters& counters_;
  node::RefusalLog refusals_;
  TimeNs now_ns_ = 0;
  DurationNs retry_ns_;
  OutletEvents& events_;
  std::array<std::uint64_t, storage::kStoreResults> refused_{};
  std::vector<std::unique_ptr<Writer>> writers_;
  boost::unordered_flat_map<SliceId, Shipment, std::hash<SliceId>> shipments_;
};

}  // namespace weir::dcm
