#pragma once

#include "builder.hpp"
#include "burst_saver.hpp"
#include "decisions.hpp"
#include "filter_stage.hpp"
#include "histogram_stage.hpp"
#include "push_admission.hpp"
#include "reach_reporter.hpp"
#include "readout_links.hpp"
#include "run_phases.hpp"
#include "settings.hpp"
#include "shipment_stage.hpp"
#include "slice_admission.hpp"
#include "slice_fetcher.hpp"
#include "slice_samples.hpp"
#include "slice_server.hpp"
#include "slice_times.hpp"
#include "status.hpp"
#include <weir/dcm/node.hpp>
#include <weir/node/report.hpp>
#include <weir/node/supervisor_client.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::dcm {

// Leads a slice from one part to the next, and gives the supervisor's messages to the part that they are for.
class DcmNode final : public node::Node, private node::SupervisorEvents, private SliceRouter {
 public:
  DcmNode(const node::Setup& setup, DcmEnvironment environment);

  void pass(TimeNs now_ns) override;
  [[nodiscard]] TimeNs wake_at_ns() const override {
    const TimeNs collector_ns = builder_.collector.wake_at_ns();
    return fetcher_ ? std::min(collector_ns, fetcher_->wake_at_ns()) : collector_ns;
  }
  [[nodiscard]] bool finished() const override {
    return signalled_ || !failure().empty() || supervisor_.finished();
  }
  void on_signal(std::string_view signal_name) override;
  [[nodiscard]] bool is_preparing() const override { return filter_start_ == FilterStart::creates; }
  void on_tap(const v1::TapWish& wish) override { samples_.wish(wish, environment_.clock.now_ns()); }
  [[nodiscard]] bool let_go() override { return filter_.stop(RunPhases::kEndPatience); }
  [[nodiscard]] std::string failure() const override {
    return failure_.empty() ? filter_.failure() : failure_;
  }
  [[nodiscard]] std::string broken_invariant() override;

 private:
  // Progress of the filter's workers before the first slice.
  enum class FilterStart : std::uint8_t { creates, begins_run, done };

  void poll_filter();
  void begin_course();
  void on_begin_run(const v1::BeginRun& begin) override;
  void on_supervisor_ready() override;
  Expected<void, wire::WireError> on_supervisor_message(const v1::Control& message) override;
  void on_end_run() override;
  bool run_ended() const override;
  v1::Report make_report(bool final) override;
  void on_supervisor_gone() override;

  void to_filter(assembly::BuiltSlice& slice) override;
  void release(assembly::BuiltSlice& slice) override { shipments_.release(slice); }
  void give_back(filter_job::FilterResult& result) override { filter_.give_back(result); }
  bool tell_supervisor(const v1::Control& message) override;

  void take_directory(const v1::Directory& directory);
  Expected<void, wire::WireError> take_verdict(const v1::ReachVerdict& verdict);
  Expected<void, wire::WireError> take_destinations(const v1::Destinations& message);
  Expected<void, wire::WireError> take_absences(const v1::Absences& absences);
  void look_at_reach();
  void hand_back(const std::vector<assembly::BuiltSlice*>& slices, std::string_view reason);
  void filter_completed();
  void exchange_slices();
  void report_decisions();
  void save_bursts();
  void forget_told();
  void close_run();
  [[nodiscard]] Workload workload() const;

  const DcmNodeSettings settings_;
  DcmEnvironment environment_;
  TimeNs now_ns_ = 0;
  sessions::PeerInfo identity_;  // with the address at which it listens, if it does
  sessions::PeerCounters peer_counters_;
  node::LoopTime loop_time_;
  node::SupervisorClient supervisor_;
  Builder builder_;
  const std::unique_ptr<PushAdmission> pushing_;  // null in pull running
  RunPhases course_;
  ReachReporter reach_;
  SliceSamples samples_;
  Decisions decisions_;
  // Of the last report; both keep their memory.
  std::vector<slice_rows::AttemptDecision> decided_;
  v1::Control decision_message_;
  SliceAdmission admission_;
  HistogramStage histograms_;
  FilterStage filter_;
  FilterStart filter_start_ = FilterStart::creates;
  ShipmentStage shipments_;
  const std::unique_ptr<BurstSaver> burst_;  // null without burst.buffer_bytes
  ReadoutLinks readouts_;
  const std::unique_ptr<SliceServer> server_;    // null if no group fetches slices from this DCM
  const std::unique_ptr<SliceFetcher> fetcher_;  // null if this DCM's group fetches none
  SliceTimes times_;
  std::vector<assembly::BuiltSlice*> completed_;  // of this pass
  std::uint64_t handed_back_ = 0;                 // slices that another attempt can build
  TimeNs reach_looked_ns_ = 0;
  TimeNs tell_bursts_ns_ = 0;
  std::string failure_;
  bool signalled_ = false;
  bool filter_has_ended_ = false;  // its end_run(), in every worker
};

}  // namespace weir::dcm
