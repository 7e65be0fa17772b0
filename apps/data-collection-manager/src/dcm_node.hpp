#pragma once

#include "arrival_trace.hpp"
#include "collector.hpp"
#include "isolation.hpp"
#include "loss_note.hpp"
#include "outlet.hpp"
#include "pulse.hpp"
#include "pushing.hpp"
#include "record.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/base/hash.hpp>
#include <weir/base/memory_region.hpp>
#include <weir/dcm/node.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/processing_units.hpp>
#include <weir/metrics/histogram.hpp>
#include <weir/node/refusal_log.hpp>
#include <weir/node/supervisor_client.hpp>
#include <weir/tap/sampler.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

// What this DCM counted on its own, for the ledger.
struct DcmCounts {
  std::uint64_t assigned = 0;
  SliceSum rejected;
  SliceSum stored;
  SliceSum discarded;
  std::uint64_t accepted = 0;
  std::uint64_t filter_errors = 0;
  std::uint64_t filter_stalled = 0;  // steps that took longer than their deadline
  std::uint64_t steps = 0;
  std::uint64_t output_events = 0;
  std::uint64_t refused = 0;        // decisions that came too late
  std::uint64_t handed_back = 0;    // slices that wait for a readout which others reach
  std::uint64_t arrived_bytes = 0;  // of fragments, whole or in part
};

class DcmNode final : public node::Node,
                      private node::SupervisorEvents,
                      private messages::PeerHandler,
                      private OutletEvents {
 public:
  DcmNode(const node::Setup& setup, Environment environment);
  ~DcmNode() override;

  void pass(TimeNs now_ns) override;
  [[nodiscard]] TimeNs wake_at_ns() const override { return collector_->wake_at_ns(); }
  [[nodiscard]] bool finished() const override;
  void on_signal(std::string_view signal_name) override;
  void on_tap(const v1::TapWish& wish) override;
  [[nodiscard]] bool let_go() override;
  [[nodiscard]] std::string failure() const override { return failure_; }
  [[nodiscard]] std::string broken_invariant() override;

 private:
  struct Readout {
    explicit Readout(DurationNs silence_ns) : pulse(silence_ns) {}
    std::unique_ptr<messages::Link> link;
    assembly::Reception reception;    // the frame that is being received
    bool in_frame = false;            // of a fragment; its payload is not all here
    bool listed = false;              // in receiving_
    std::uint64_t told_bytes = 0;     // of that frame, those that the collector knows of
    UtcNs timed_utc_ns = 0;           // when what came with the last timing did; 0: not known
    TimeNs timing_ns = 0;             // when it last said how it is
    std::uint64_t retransmitted = 0;  // of this connection, as its readout said last
    std::vector<std::byte> frames;
    Pulse pulse;
    LossNote loss;
  };

  // Supervisor
  void on_begin_run(const v1::BeginRun& begin) override;
  void on_supervisor_ready() override;
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) override;
  void on_end_run() override;
  bool run_ended() const override;
  v1::Report make_report(bool final) override;
  void on_supervisor_gone() override;
  void take_directory(const v1::Directory& directory);
  Expected<void, wire::WireError> take_assignments(const v1::Assign& assign);
  Expected<void, wire::WireError> take_confirmations(const v1::Confirm& confirm);
  void confirm(assembly::BuiltSlice& slice, v1::Confirmation code, StoreEpoch epoch, NodeIndex writer);

  // Readouts
  void on_ready(messages::Peer& peer) override;
  void on_gone(messages::Peer& peer, std::string_view why) override;
  wire::Placement on_header(messages::Peer& peer, const wire::FrameHeader& header) override;
  Expected<void, wire::WireError> on_frame(messages::Peer& peer, const wire::FrameHeader& header,
                                           ConstBytes payload) override;
  Expected<void, wire::WireError> on_control(messages::Peer& peer, const v1::Control& message) override;
  void on_part(messages::Peer& peer, const wire::FrameHeader& header, ConstBytes part) override;
  void on_abandoned(messages::Peer& peer, const wire::FrameHeader& header) override;
  std::string check_hello(const messages::PeerInfo& info) override;

  // Who it reaches
  void look_at_reach();
  void tell_reach(const v1::Control& message);
  Expected<void, wire::WireError> take_verdict(const v1::ReachVerdict& verdict);
  void hand_back_stranded();
  void drop_silent_readouts();

  // Push running
  [[nodiscard]] bool takes_pushed(std::uint32_t readout, const wire::FrameHeader& header);
  [[nodiscard]] bool is_pushed_here(SliceId slice, Attempt attempt) const;
  void open_pushed(assembly::BuiltSlice& slice, bool bound);
  [[nodiscard]] bool bind(assembly::BuiltSlice& assigned);
  void drop_unbound(SliceId slice);
  void ask_for_overdue();
  void set_due(assembly::BuiltSlice& slice);

  // Samples for who asked
  void sample_raw(const assembly::BuiltSlice& slice);
  void sample_accepted(const assembly::BuiltSlice& slice, StoreEpoch epoch);
  void sample(const assembly::BuiltSlice& slice, StoreEpoch epoch, bool undecided);
  void report_taps(v1::Report& report) const;

  // A slice's way
  void open_assigned();
  void block(assembly::BuiltSlice& slice);
  void open(assembly::BuiltSlice& slice);
  void filter_completed();
  void enter_filter(assembly::BuiltSlice& slice);
  void submit_jobs();
  [[nodiscard]] static filter_host::Job job_of(assembly::BuiltSlice& slice);
  void hand_over();
  void isolate();
  void tell_filtering();
  void tell_long_in_filter();
  void take_results();
  void act_on(assembly::BuiltSlice& slice, filter_host::FilterResult& result);
  void need_more(assembly::BuiltSlice& slice, filter_host::FilterResult& result);
  void decide(assembly::BuiltSlice& slice, const assembly::Decision& decision);
  void report_decisions();
  void report_decision(assembly::BuiltSlice& slice, v1::Decide& decide);
  void ship(assembly::BuiltSlice& slice, StoreEpoch epoch, NodeIndex writer);
  void on_stored(assembly::BuiltSlice& slice) override;
  void on_refused(assembly::BuiltSlice& slice, storage::StoreResult reason) override;
  void give_up(assembly::BuiltSlice& slice);
  void release_unreferenced();
  void abandon_all(bool stored_too);
  void watch_filter();
  static void destroy_state(assembly::BuiltSlice& slice);
  void release(assembly::BuiltSlice& slice);
  [[nodiscard]] std::shared_ptr<const assembly::Selection> first_selection(
      const assembly::BuiltSlice& slice) const;
  void tick_links();
  void tell_partial_frames();
  void take_timing(messages::Peer& peer, const wire::FrameHeader& header);
  void arrived(std::uint32_t readout, assembly::BuiltSlice* slice, std::uint64_t payload_bytes,
               std::uint64_t header_bytes = 0);
  void write_trace() const;
  [[nodiscard]] std::string state() const;
  [[nodiscard]] std::size_t slices_in_flight() const;
  void send_requests();
  void load_filter();

  const node::Setup& setup_;
  Environment environment_;
  TimeNs now_ns_ = 0;
  messages::PeerInfo to_readouts_;  // what they are told of this DCM
  messages::PeerCounters peer_counters_;
  node::RefusalLog refusals_;
  node::SupervisorClient supervisor_;
  MemoryRegion memory_;
  BufferPool pool_;
  assembly::SliceTable slices_;
  std::unique_ptr<assembly::Assembler> assembler_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<Outlet> outlet_;
  std::unique_ptr<Pushing> pushing_;  // null in pull running
  std::shared_ptr<const filter_host::FilterPlugin> plugin_;
  std::unique_ptr<filter_host::ProcessingUnits> units_;
  std::vector<Readout> readouts_;
  std::vector<std::uint32_t> receiving_;  // readouts that have begun a frame since the last pass, or before
  std::shared_ptr<const assembly::Selection> first_selection_;
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const assembly::Selection>> type_selections_;

  std::vector<assembly::BuiltSlice*> completed_;  // of this pass
  std::vector<filter_host::Job> jobs_;            // likewise
  Isolation isolation_;
  std::vector<filter_host::OldestJob> running_;
  std::vector<std::pair<SliceId, Attempt>> long_in_filter_;  // the supervisor knows
  std::vector<filter_host::FilterResult*> results_;
  DcmCounts counts_;
  metrics::Histogram latency_;           // first request sent, or first fragment begun, to last fragment, us
  metrics::Histogram build_latency_;     // assignment, or last slot, to last fragment, us
  metrics::Histogram decision_latency_;  // assignment to decision, us
  ArrivalTrace trace_;
  tap::Sampler sampler_;
  std::vector<tap::Tap*> due_taps_;
  std::vector<std::byte> sample_;
  std::string failure_;
  TimeNs ticked_ns_ = 0;  // the links to the readouts
  TimeNs reach_looked_ns_ = 0;
  TimeNs joined_ns_ = 0;
  v1::Control told_reach_;                              // the last that the supervisor was told
  std::optional<std::pair<SliceId, Attempt>> stalled_;  // with the filter; the last one that was seen
  bool run_begun_ = false;
  bool ending_ = false;
  bool units_stopped_ = false;
  TimeNs end_deadline_ns_ = 0;
  bool signalled_ = false;
  bool reach_told_ = false;
  bool cut_off_ = false;
};

}  // namespace weir::dcm
