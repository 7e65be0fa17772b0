#pragma once

#include "burst_leaving.hpp"
#include "burst_stores.hpp"
#include "run_end.hpp"
#include "settings.hpp"
#include <weir/node/refusal_log.hpp>
#include <weir/node/supervisor_client.hpp>
#include <weir/node/throttle_teller.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/slice_codec/settled.hpp>
#include <weir/storage/disk_watch.hpp>
#include <weir/storage/grant_book.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/wire/batch.hpp>
#include <weir/writer/node.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weir::writer {

class WriterNode final : public node::Node,
                         private node::SupervisorEvents,
                         private sessions::PeerHandler,
                         private storage::StoreHandler,
                         private ports::DiskHandler,
                         private BurstEvents {
 public:
  WriterNode(const node::Setup& setup, WriterEnvironment environment);

  void pass(TimeNs now_ns) override;
  [[nodiscard]] bool finished() const override;
  void on_signal(std::string_view signal_name) override;
  [[nodiscard]] std::string failure() const override;

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

  void recall();

  // Supervisor
  void on_begin_run(const v1::BeginRun& begin) override;
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) override;
  Expected<void, wire::WireError> take_settled(const v1::Settled& settled);
  void on_end_run() override;
  void close_when_told();
  void tell_leaving(sessions::Peer& peer) const;
  bool run_ended() const override { return end_.is_over(commands_run(), now_ns_) && bursts_.at_rest(); }
  [[nodiscard]] bool has_more_runs() const { return settings_.has_more_runs; }
  [[nodiscard]] bool commands_run() const {
    return environment_.close_counts && environment_.close_counts().unfinished > 0;
  }
  v1::Report make_report(bool final) override;
  void on_supervisor_ready() override;
  void tell_throttle();
  [[nodiscard]] slice_rows::HoldReason reason() const;
  void give_up_closing();
  void add_close_notes(CloseCounts commands, bool final, v1::Report& report) const;
  [[nodiscard]] std::string state() const;

  // DCMs
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
  [[nodiscard]] Connection& connection_of(const sessions::Peer& peer) { return connections_.at(peer.tag); }
  void send_grants();
  void send_acknowledgements();
  void send_refusals();

  // Store
  void on_ready() override;
  void on_stored(std::span<const storage::StoredSlice> slices) override;
  void on_file_closed(const storage::ClosedFile& file) override;
  void on_lost(const storage::LostCopies& lost) override;
  void note_disturbance(const std::string& what);
  void on_disk_event(const ports::DiskEvent& event) override;
  void on_burst_stored(std::uint32_t alert, std::span<const storage::StoredSlice> slices) override;
  void on_burst_file(std::uint32_t alert, const storage::ClosedFile& file) override;
  void on_burst_blocked(std::uint32_t alert, const std::string& detail) override;
  [[nodiscard]] storage::GrantBook& grants_of(const Connection& connection) {
    return connection.burst ? burst_grants_ : grants_;
  }
  void send_new_grants(storage::GrantBook& book);
  void on_blocked(ports::DiskError error, const std::string& detail) override;
  void on_resumed() override;
  void on_failed(ports::DiskError error, const std::string& detail) override;
  void on_finished() override;

  const WriterNodeSettings settings_;
  WriterEnvironment environment_;
  TimeNs now_ns_ = 0;
  sessions::PeerInfo identity_;  // with the real port
  sessions::PeerCounters peer_counters_;
  node::RefusalLog refusals_;
  storage::RunStore store_;
  storage::GrantBook grants_;
  BurstStores bursts_;
  storage::GrantBook burst_grants_;
  BurstLeaving burst_leaving_;
  std::map<std::uint64_t, Connection>
      connections_;  // by tag, which is the grant book's peer id and the store's origin
  std::uint32_t last_connection_ = 0;
  sessions::SessionListener listener_;
  node::SupervisorClient supervisor_;
  std::vector<wire::CopyId> acknowledged_;  // for the supervisor, since the last pass
  slice_codec::SettledSlices settled_;      // of the message at hand
  std::vector<storage::ClosedFile> files_;
  std::vector<std::pair<std::uint32_t, storage::ClosedFile>> burst_files_;  // with their alert
  std::uint64_t earlier_dead_ = 0;  // copies of earlier lives that are known to be dead
  std::vector<storage::Grant> new_grants_;
  std::uint64_t refused_ = 0;  // records
  std::uint64_t no_memory_ = 0;
  std::string blocked_;  // why, while the disk refuses
  std::string blocked_detail_;
  storage::DiskWatch disk_watch_;
  std::size_t disturbances_ = 0;   // changes to run files by others
  std::string disturbances_text_;  // the first of them
  std::string unclosed_;           // why a file stays a .part
  node::ThrottleTeller throttle_;
  std::string failure_;
  // The supervisor must not learn of a writer that cannot store, only of one that waits for room. A run that
  // it knows has to end there, whatever happens to the disk.
  bool takes_part_ = false;
  WriterRunEnd end_;
  bool signalled_ = false;
};

}  // namespace weir::writer
