#pragma once

#include "arrival_trace.hpp"
#include "collector.hpp"
#include "held_work.hpp"
#include "isolation.hpp"
#include "loss_note.hpp"
#include "outlet.hpp"
#include "pulse.hpp"
#include "pushing.hpp"
#include "work.hpp"
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

#include <deque>
#include <map>
#include <memory>
#include <string>
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
  void confirm(Work& work, v1::Confirmation code, StoreEpoch epoch, NodeIndex writer);

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
  [[nodiscard]] bool is_pushed_here(const assembly::Assignment& assignment) const;
  void open_pushed(assembly::Assignment assignment, bool bound);
  [[nodiscard]] bool bind(assembly::Assignment& assignment);
  void drop_unbound(SliceId slice);
  void ask_for_overdue();
  void set_due(Work& work);

  // Samples for who asked
  void sample_raw(const Work& work);
  void sample_accepted(const Work& work, StoreEpoch epoch);
  void sample(const Work& work, StoreEpoch epoch, bool undecided);
  void report_taps(v1::Report& report) const;

  // A slice's way
  void open_assigned();
  void block(assembly::Assignment assignment);
  void open(assembly::Assignment assignment);
  Work& open_slice(assembly::Assignment assignment);
  void filter_completed();
  void submit_jobs();
  void hand_over(std::size_t jobs_max);
  void isolate();
  void tell_filtering();
  void tell_long_in_filter();
  void take_results();
  void act_on(Work& work, filter_host::FilterResult& result);
  void need_more(Work& work, filter_host::FilterResult& result);
  void accept_unfiltered(Work& work, storage::DecisionKind why);
  void decide(Work& work, v1::Verdict verdict, const char* failure = "");
  void report_decisions();
  void ship(Work& work, StoreEpoch epoch, NodeIndex writer);
  void on_stored(SliceId slice, Attempt attempt, StoreEpoch epoch) override;
  void on_refused(SliceId slice, Attempt attempt, storage::StoreResult reason) override;
  void give_up(Work& work);
  void take_back_held();
  void abandon_all(bool stored_too);
  void watch_filter();
  static void destroy_state(assembly::Slice& slice);
  void release(Work& work);
  [[nodiscard]] std::shared_ptr<const Selection> first_selection(const assembly::Slice& slice) const;
  static Work& work_of(const assembly::Slice& slice);
  void tick_links();
  void tell_partial_frames();
  void take_timing(messages::Peer& peer, const wire::FrameHeader& header);
  void arrived(std::uint32_t readout, const assembly::Slice* slice, std::uint64_t bytes);
  void write_trace() const;
  [[nodiscard]] std::string state() const;
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
  std::unique_ptr<assembly::Assembler> assembler_;
  std::unique_ptr<Collector> collector_;
  HeldWork held_;
  std::unique_ptr<Outlet> outlet_;
  std::unique_ptr<Pushing> pushing_;  // null in pull running
  std::shared_ptr<const filter_host::FilterPlugin> plugin_;
  std::unique_ptr<filter_host::ProcessingUnits> units_;
  std::vector<Readout> readouts_;
  std::vector<std::uint32_t> receiving_;  // readouts that have begun a frame since the last pass, or before
  std::shared_ptr<const Selection> first_selection_;
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const Selection>> type_selections_;

  std::map<SliceId, assembly::Assignment> blocked_;  // assigned, while an earlier attempt is open here
  std::deque<assembly::Assignment> assigned_;  // bounded by the credits; waits for room in the assembler
  std::vector<std::unique_ptr<Work>> work_;    // all there are
  std::vector<Work*> spare_work_;
  std::vector<assembly::Slice*> completed_;
  std::vector<filter_host::Job> jobs_;  // not yet taken by the processing units
  Isolation isolation_;
  std::vector<filter_host::OldestJob> running_;
  std::vector<std::pair<SliceId, Attempt>> long_in_filter_;  // the supervisor knows
  std::vector<filter_host::FilterResult*> results_;
  std::deque<Work*> decided_;         // not yet reported
  std::uint64_t accepted_bytes_ = 0;  // reported accepts that wait for their writer
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
  v1::Control told_reach_;           // the last that the supervisor was told
  std::uint64_t stalled_token_ = 0;  // the job that was last seen to stall
  bool run_begun_ = false;
  bool ending_ = false;
  bool units_stopped_ = false;
  bool accepts_held_back_ = false;  // decisions, until writers have taken some
  TimeNs end_deadline_ns_ = 0;
  bool signalled_ = false;
  bool reach_told_ = false;
  bool cut_off_ = false;
};

}  // namespace weir::dcm
