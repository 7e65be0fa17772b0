#pragma once

#include "burst_stores.hpp"
#include "dcm_links.hpp"
#include "disk_state.hpp"
#include "run_end.hpp"
#include "settings.hpp"
#include <weir/node/report.hpp>
#include <weir/node/supervisor_client.hpp>
#include <weir/node/throttle_reporter.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/slice_codec/settled.hpp>
#include <weir/storage/run_store.hpp>
#include <weir/wire/batch.hpp>
#include <weir/writer/node.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::writer {

class WriterNode final : public node::Node,
                         private node::SupervisorEvents,
                         private RecordHandler,
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
  void recall();

  // Supervisor
  void on_begin_run(const v1::BeginRun& begin) override;
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) override;
  Expected<void, wire::WireError> take_settled(const v1::Settled& settled);
  void on_end_run() override;
  void close_when_told();
  bool run_ended() const override { return end_.is_over(commands_run(), now_ns_) && bursts_.at_rest(); }
  [[nodiscard]] bool has_more_runs() const { return settings_.has_more_runs; }
  [[nodiscard]] bool commands_run() const {
    return environment_.close_counts && environment_.close_counts().unfinished > 0;
  }
  v1::Report make_report(bool final) override;
  void on_supervisor_ready() override;
  void acknowledge();
  void tell_throttle();
  void give_up_closing();
  void add_close_notes(CloseCounts commands, bool final, v1::Report& report) const;
  [[nodiscard]] std::string state() const;

  // DCMs
  [[nodiscard]] storage::StoreResult on_record(const ReceivedRecord& record) override;
  void on_next_alert(std::uint32_t alert) override { bursts_.prepare(alert, now_ns_); }

  // Store
  void on_ready() override;
  void on_stored(std::span<const storage::StoredSlice> slices) override;
  void on_file_closed(const storage::ClosedFile& file) override;
  void on_lost(const storage::LostCopies& lost) override;
  void on_disk_event(const ports::DiskEvent& event) override;
  void on_burst_stored(std::uint32_t alert, std::span<const storage::StoredSlice> slices) override {
    dcms_.burst_stored(alert, slices);
  }
  void on_burst_file(std::uint32_t alert, const storage::ClosedFile& file) override;
  void on_burst_blocked(std::uint32_t alert, const std::string& detail) override;
  void on_blocked(ports::DiskError error, const std::string& detail) override;
  void on_resumed() override;
  void on_failed(ports::DiskError error, const std::string& detail) override;
  void on_finished() override;

  const WriterNodeSettings settings_;
  WriterEnvironment environment_;
  TimeNs now_ns_ = 0;
  sessions::PeerInfo identity_;  // with the real port
  sessions::PeerCounters peer_counters_;
  node::LoopTime loop_time_;
  storage::RunStore store_;
  BurstStores bursts_;
  DcmLinks dcms_;
  node::SupervisorClient supervisor_;
  std::vector<wire::CopyId> acknowledged_;  // for the supervisor, since the last pass
  slice_codec::SettledSlices settled_;      // of the message at hand
  std::vector<storage::ClosedFile> files_;
  std::vector<std::pair<std::uint32_t, storage::ClosedFile>> burst_files_;  // with their alert
  std::uint64_t earlier_dead_ = 0;  // copies of earlier lives that are known to be dead
  DiskState disk_;
  std::string unclosed_;  // why a file stays a .part
  node::ThrottleReporter throttle_;
  std::string failure_;
  // The supervisor must not learn of a writer that cannot store, only of one that waits for room. A run that
  // it knows has to end there, whatever happens to the disk.
  bool takes_part_ = false;
  WriterRunEnd end_;
  bool signalled_ = false;
};

}  // namespace weir::writer
