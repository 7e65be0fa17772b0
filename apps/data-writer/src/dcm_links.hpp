#pragma once

#include "burst_leaving.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/storage/grant_book.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/wire/batch.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::writer {

// A complete record of a DCM.
struct ReceivedRecord {
  std::uint32_t origin = 0;            // its connection
  std::optional<std::uint32_t> alert;  // of a burst; nullopt: of the run
  ConstBytes bytes;
  std::shared_ptr<const void> owner;  // of the bytes
};

// Receives what DCMs send to a writer.
class RecordHandler {
 public:
  virtual ~RecordHandler() = default;
  // Stores the record, or returns why not.
  [[nodiscard]] virtual storage::StoreResult on_record(const ReceivedRecord& record) = 0;
  // The first record of this alert will follow.
  virtual void on_next_alert(std::uint32_t alert) = 0;
};

struct DcmLinksSettings {
  std::uint64_t grant_bytes;        // of slices that may be in transit to this writer
  std::uint64_t burst_grant_bytes;  // of alerts' records
};

// The connections to DCMs: grants, records in pieces, acknowledgements and refusals. Records of alerts come
// over connections of their own, with their own grants.
class DcmLinks final : public sessions::PeerHandler {
 public:
  // Keeps all references.
  DcmLinks(const DcmLinksSettings& settings, const sessions::PeerInfo& identity,
           const sessions::PeerLimits& limits, sessions::PeerCounters& counters, RecordHandler& records);

  [[nodiscard]] Expected<ports::Endpoint, std::string> open(ports::Network& network,
                                                            const ports::Endpoint& at) {
    return listener_.open(network, at);
  }
  // Call at the begin of each pass.
  void tick(TimeNs now_ns);

  // Return the record's grant and queue its acknowledgement.
  void stored(std::span<const storage::StoredSlice> slices);
  void burst_stored(std::uint32_t alert, std::span<const storage::StoredSlice> slices);
  void send_acknowledgements();
  void send_refusals();
  // Sends the grants that are possible now. `bursts`: also for records of alerts.
  void send_grants(bool bursts);

  // The writer ends its part in alerts: DCMs take no further records for it.
  void begin_leaving(TimeNs now_ns);
  // Returns true once no DCM has unanswered records of alerts, or has had its time.
  [[nodiscard]] bool has_left(TimeNs now_ns) const { return burst_leaving_.is_over(now_ns); }
  // No alert is open.
  void end_alerts() { burst_leaving_.note_over(); }

  [[nodiscard]] std::uint64_t grant_bound_bytes() const { return grants_.bound_bytes(); }
  [[nodiscard]] const storage::GrantCounters& grant_counters() const { return grants_.counters(); }
  // Returns how many records were refused because memory was short.
  [[nodiscard]] std::uint64_t no_memory() const { return no_memory_; }

 private:
  struct Refusal {
    std::uint64_t record = 0;  // its place among the connection's records
    storage::StoreResult reason = storage::StoreResult::malformed;
  };
  struct Connection {
    sessions::Peer* peer = nullptr;
    storage::PeerId id;
    std::shared_ptr<std::byte[]> record;  // the record being received, unless memory is short
    std::uint64_t record_bytes = 0;       // its length; 0: none is being received
    std::uint64_t record_here = 0;        // bytes of complete pieces
    SliceId slice;
    Attempt attempt;
    bool burst = false;                                          // a connection for records of alerts
    std::uint32_t alert = 0;                                     // of the next record
    std::map<std::uint32_t, std::vector<SliceId>> burst_stored;  // since the last pass, by alert
    std::uint64_t records = 0;                                   // since the connection began
    std::vector<wire::CopyId> acknowledged;                      // since the last pass
    std::vector<Refusal> refused;                                // likewise
  };

  std::string check_hello(const sessions::PeerInfo& info) override;
  void on_ready(sessions::Peer& peer) override;
  void on_gone(sessions::Peer& peer, std::string_view why) override;
  wire::PayloadPlace on_header(sessions::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(sessions::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(sessions::Peer& peer, const v1::Control& message) override;
  [[nodiscard]] bool begin_record(Connection& connection, const wire::FrameHeader& header);
  void take_record(Connection& connection, const sessions::Peer& peer);
  void refuse(Connection& connection, const sessions::Peer& peer, storage::StoreResult reason);
  void send_new_grants(storage::GrantBook& book);
  [[nodiscard]] Connection& connection_of(const sessions::Peer& peer) { return connections_.at(peer.tag); }
  [[nodiscard]] storage::GrantBook& grants_of(const Connection& connection) {
    return connection.burst ? burst_grants_ : grants_;
  }

  RecordHandler& records_;
  TimeNs now_ns_ = 0;
  node::RefusalLog refusals_;
  storage::GrantBook grants_;
  storage::GrantBook burst_grants_;
  BurstLeaving burst_leaving_;
  // By tag, which is the grant book's peer id and the store's origin.
  std::map<std::uint64_t, Connection> connections_;
  std::uint32_t last_connection_ = 0;
  std::vector<storage::Grant> new_grants_;
  std::uint64_t refused_ = 0;  // records
  std::uint64_t no_memory_ = 0;
  sessions::SessionListener listener_;
};

}  // namespace weir::writer
