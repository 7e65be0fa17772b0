#pragma once

#include "liveness_probe.hpp"
#include "loss_log.hpp"
#include <weir/assembly/slice_table.hpp>
#include <weir/base/ids.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/ports/network.hpp>
#include <weir/sessions/connector.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/storage/run_store.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace weir::v1 {
class Refused;
}  // namespace weir::v1

namespace weir::dcm {

// Notifications to a DCM about its shipments.
class OutletEvents {
 public:
  virtual ~OutletEvents() = default;
  // It is on disk. The shipment is removed.
  virtual void on_stored(assembly::BuiltSlice& slice) = 0;
  // The writer does not take it, and would not if it were sent again. The shipment is still there.
  virtual void on_refused(assembly::BuiltSlice& slice, storage::StoreResult reason) = 0;
};

// The DCM's connections to the writers: requests space, sends records as granted, and keeps each until the
// writer has stored it. After a loss all unacknowledged records are sent again; the writer recognises its
// own. A record that a writer has no room for is offered again later. A record longer than a piece is sent in
// pieces. The shipments belong to slices in the state `storing`.
class Outlet final : public sessions::PeerHandler {
 public:
  Outlet(const sessions::PeerInfo& self, const sessions::PeerLimits& limits, sessions::PeerCounters& counters,
         DurationNs retry_ns, DurationNs silence_ns, std::size_t writers, assembly::SliceTable& slices,
         OutletEvents& events);

  void set_writer(NodeIndex index, const ports::Endpoint& at);
  // Queues the slice's shipment, in place of an earlier one.
  void ship(assembly::BuiltSlice& slice);
  // Removes an unsent shipment from its queue; the caller changes the slice's state.
  static void drop(assembly::BuiltSlice& slice) { slice.leave_line(); }
  // Number of the farm's writers; every NodeIndex passed above is below.
  [[nodiscard]] std::size_t writers() const { return writers_.size(); }
  void tick(ports::Network& network, TimeNs now_ns);
  // Probes silent writers. Calls `lost` for each unreachable one.
  void look(TimeNs now_ns, bool ending, const std::function<void(std::uint32_t writer)>& lost);
  // Records, by storage::StoreResult, whether they are offered again or not.
  [[nodiscard]] const std::array<std::uint64_t, storage::kStoreResults>& refused() const { return refused_; }

 private:
  using Line = boost::intrusive::list<assembly::BuiltSlice, boost::intrusive::base_hook<assembly::WriterHook>,
                                      boost::intrusive::constant_time_size<false>>;
  struct Writer {
    explicit Writer(DurationNs silence_ns) : probe(silence_ns) {}
    std::unique_ptr<sessions::Connector> link;
    std::uint64_t sent = 0;           // records, on this connection
    Line later;                       // the writer had no room for them
    Line queue;                       // not sent on this connection yet
    std::vector<std::uint64_t> asks;  // totals to be asked for, each a record or a few
    std::uint64_t wanted_total = 0;   // these since the connection began, in bytes
    std::uint64_t granted_total = 0;
    std::uint64_t sent_total = 0;      // or given back
    std::uint64_t returned_total = 0;  // granted for records that were dropped before they were sent
    std::uint64_t told_returned = 0;
    LivenessProbe probe;
    LossLog loss;
  };

  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;

  Writer& writer(NodeIndex index);
  void requeue(Writer& to, std::size_t index);
  static void want(Writer& to, std::uint64_t bytes);
  void send_granted(Writer& to);
  static void send_asks(Writer& to);
  void offer_again(Writer& to);
  void take_refusal(Writer& from, std::size_t index, const v1::Refused& refused);
  void send_record(sessions::Peer& peer, assembly::BuiltSlice& slice) const;

  const sessions::PeerInfo& self_;
  const sessions::PeerLimits& limits_;
  sessions::PeerCounters& counters_;
  node::RefusalLog refusals_;
  TimeNs now_ns_ = 0;
  DurationNs retry_ns_;
  assembly::SliceTable& slices_;
  OutletEvents& events_;
  std::array<std::uint64_t, storage::kStoreResults> refused_{};
  std::vector<std::unique_ptr<Writer>> writers_;
};

}  // namespace weir::dcm
