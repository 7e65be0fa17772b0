#include "dcm_node.hpp"

#include <weir/node/refused.hpp>
#include <weir/slice_codec/assign.hpp>
#include <weir/slice_codec/decide.hpp>
#include <weir/slice_codec/tables.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;

constexpr DurationNs kLookEvery = 10 * kMillisecond;
constexpr DurationNs kTellBurstsEvery = 100 * kMillisecond;
constexpr DurationNs kTraceFrom = kSecond;  // a run has started up by then

std::unique_ptr<PushAdmission> make_pushing(const std::optional<PushAdmissionSettings>& settings,
                                            const ports::Clock& clock, Builder& builder,
                                            SliceRouter& router) {
  return settings ? std::make_unique<PushAdmission>(*settings, clock, builder, router) : nullptr;
}

std::unique_ptr<BurstSaver> make_burst_saver(const DcmNodeSettings& settings,
                                             sessions::PeerCounters& counters,
                                             const DcmEnvironment& environment) {
  if (!settings.burst) return nullptr;
  return std::make_unique<BurstSaver>(*settings.burst, counters,
                                      settings.burst_has_disk ? environment.make_burst_disk() : nullptr);
}

}  // namespace

DcmNode::DcmNode(const node::Setup& setup, DcmEnvironment environment)
    : settings_(node_settings(setup)),
      environment_(std::move(environment)),
      identity_(settings_.member.identity),
      supervisor_(identity_, settings_.member.limits, peer_counters_, settings_.member.supervisor,
                  settings_.member.reconnect_ns, settings_.member.status_interval_ns, *this,
                  settings_.member.reports),
      builder_("weir-" + identity_.name, settings_.buffer_bytes, settings_.assembly, settings_.sources,
               settings_.collector, make_shaper(setup)),
      pushing_(make_pushing(settings_.push, environment_.clock, builder_, *this)),
      reach_(settings_.connect_patience_ns),
      samples_(settings_.samples),
      decisions_(builder_),
      admission_(settings_.type_sources, builder_, pushing_.get(), *this),
      filter_(settings_.filter, {environment_.plugin_path, environment_.wake, environment_.make_workers},
              environment_.clock, builder_, decisions_, histograms_, *this, now_ns_),
      shipments_(settings_.shipments, peer_counters_, builder_, pushing_.get(), samples_, histograms_, *this,
                 now_ns_),
      burst_(make_burst_saver(settings_, peer_counters_, environment_)),
      readouts_(settings_.readout_link, settings_.readouts, peer_counters_, environment_.clock, builder_,
                pushing_.get(), course_),
      server_(settings_.server ? std::make_unique<SliceServer>(*settings_.server, identity_, peer_counters_,
                                                               builder_, now_ns_)
                               : nullptr),
      fetcher_(settings_.fetcher
                   ? std::make_unique<SliceFetcher>(*settings_.fetcher, make_fetch_shaper(setup),
                                                    peer_counters_, builder_, course_)
                   : nullptr) {
  shipments_.keep_for(burst_.get());
  if (settings_.planes)
    readouts_.use_planes(*settings_.planes,
                         environment_.watch_carriers ? environment_.watch_carriers() : nullptr);
  poll_filter();
  if (fetcher_) admission_.fetch_kept();
  if (!server_) return;
  identity_.listen = server_->open(environment_.network);
  decisions_.keep_for(settings_.fetching_groups, settings_.kept_max);
}

void DcmNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  if (filter_start_ != FilterStart::done) poll_filter();
  // A DCM that cannot take slices stays unknown to the supervisor.
  if (is_preparing() || !failure_.empty()) return;
  if (course_.is_ending()) close_run();
  supervisor_.tick(environment_.network, now_ns);
  readouts_.tick(environment_.network, now_ns);
  shipments_.release_unreferenced();
  filter_.take_results();
  filter_.watch();
  samples_.expire(now_ns);
  if (course_.has_begun()) admission_.open_assigned(now_ns);
  look_at_reach();
  readouts_.tell_partial_frames();
  if (pushing_) pushing_->end_waiting(now_ns);
  // Before the collector's pass, which cancels their requests: the supervisor's answer may release them
  // before the next one.
  if (reach_.is_cut_off()) hand_back(builder_.collector.take_stranded(), "unreachable");
  hand_back(builder_.assembler.take_crowded_out(), "crowded_out");
  if (course_.has_begun()) builder_.collector.pass(now_ns);
  filter_completed();
  exchange_slices();
  builder_.collector.issue_ahead(now_ns);
  filter_.submit();
  readouts_.send_requests();
  shipments_.outlet().tick(environment_.network, now_ns);
  shipments_.release_unreferenced();
  report_decisions();
  if (burst_) save_bursts();
}

void DcmNode::exchange_slices() {
  if (server_) {
    server_->tick();
    // Accepts go before what another DCM can build as well.
    while (decisions_.needs_room() && shipments_.drop_kept()) {
    }
  }
  if (!fetcher_) return;
  fetcher_->tick(environment_.network, now_ns_);
  fetcher_->request_wanted();
  if (supervisor_.ready()) fetcher_->tell([this](const v1::Control& message) { supervisor_.send(message); });
}

// ---- a slice's way

void DcmNode::filter_completed() {
  completed_.clear();
  builder_.assembler.take_completed(completed_);
  for (BuiltSlice* slice : completed_) {
    // Stays in the window: its assignment may never come.
    if (slice->awaits_assignment) {
      builder_.slices.change(*slice, BuildState::unassigned);
    } else {
      to_filter(*slice);
    }
  }
}

void DcmNode::to_filter(BuiltSlice& slice) {
  if (slice.pushed) pushing_->complete(slice);
  if (slice.step == 0 && slice.assignment.is_kept && fetcher_) fetcher_->complete(slice);
  times_.complete(slice);
  if (slice.step == 0) samples_.complete(slice, now_ns_);
  filter_.take(slice);
  // Slices decided without the filter are excluded.
  if (slice.state() == BuildState::queued) builder_.collector.fetch_ahead(slice);
}

void DcmNode::hand_back(const std::vector<BuiltSlice*>& slices, std::string_view reason) {
  for (BuiltSlice* slice : slices) {
    // An unassigned slice cannot be returned.
    if (slice->awaits_assignment) continue;
    builder_.collector.forget(*slice);
    ++handed_back_;
    decisions_.decide(*slice, assembly::SliceDecision::fail(reason), now_ns_);
  }
}

void DcmNode::save_bursts() {
  burst_->tick(environment_.network, now_ns_);
  if (!supervisor_.ready() || now_ns_ < tell_bursts_ns_) return;
  tell_bursts_ns_ = now_ns_ + kTellBurstsEvery;
  burst_->tell([this](const v1::Control& message) { supervisor_.send(message); });
}

void DcmNode::report_decisions() {
  if (!decisions_.wait() || !supervisor_.ready()) return;
  decided_.clear();
  decisions_.report(decided_);
  if (decided_.empty()) return;
  slice_codec::encode(decided_, *decision_message_.mutable_decide());
  supervisor_.send(decision_message_);
}

bool DcmNode::tell_supervisor(const v1::Control& message) {
  if (!supervisor_.ready()) return false;
  supervisor_.send(message);
  return true;
}

// ---- which nodes are reached

void DcmNode::look_at_reach() {
  if (now_ns_ - reach_looked_ns_ < kLookEvery) return;
  reach_looked_ns_ = now_ns_;
  v1::Control message;
  v1::Reach& reach = *message.mutable_reach();
  readouts_.look();
  if (fetcher_) fetcher_->look();
  readouts_.add_lost_to(reach);
  shipments_.outlet().look(now_ns_, course_.is_ending(),
                           [&](std::uint32_t writer) { reach.add_writers(writer); });
  if (course_.is_running() && supervisor_.ready() && reach_.is_news(reach, now_ns_))
    supervisor_.send(message);
  readouts_.drop_silent(settings_.drop_silent_ns);
}

Expected<void, wire::WireError> DcmNode::take_verdict(const v1::ReachVerdict& verdict) {
  auto missing = slice_codec::decode(verdict, readouts_.size());
  if (!missing) return node::refused(missing.error());
  reach_.judge(verdict.cut_off());
  builder_.collector.set_verdict(std::move(*missing), reach_.is_cut_off());
  return {};
}

// ---- the supervisor

void DcmNode::on_supervisor_ready() {
  reach_.met(now_ns_);
  histograms_.report_all();
  if (burst_) burst_->forget_told();
}

void DcmNode::on_begin_run(const v1::BeginRun& begin) {
  if (course_.has_begun()) return supervisor_.send_begun({});  // it has not received the first answer
  if (filter_start_ != FilterStart::done) return;
  if (auto begun = filter_.begin_run(RunNumber(begin.run()), begin.utc_ns()); !begun) {
    failure_ = begun.error();
    return supervisor_.send_begun(failure_);
  }
  filter_start_ = FilterStart::begins_run;
  poll_filter();
}

void DcmNode::poll_filter() {
  const auto done = filter_.poll_start();
  if (!done) {
    failure_ = done.error();
    if (filter_start_ == FilterStart::begins_run) supervisor_.send_begun(failure_);
    return;
  }
  if (*done && std::exchange(filter_start_, FilterStart::done) == FilterStart::begins_run) begin_course();
}

void DcmNode::begin_course() {
  if (!settings_.first_sources.empty()) {
    admission_.ask_first_for(settings_.first_sources);
  } else if (const auto wish = filter_.first_sources()) {
    admission_.ask_first_for(*wish);
  }
  if (admission_.first_step_is_part()) filter_.count_steps();
  builder_.collector.prefetch_after_steps(settings_.sources_after_steps);
  course_.begin();
  reach_.run_begun(now_ns_);
  readouts_.start_trace(settings_.trace_slices, now_ns_ + kTraceFrom);
  supervisor_.send_begun({});
}

Expected<void, wire::WireError> DcmNode::on_supervisor_message(const v1::Control& message) {
  switch (message.body_case()) {
    case v1::Control::kDirectory:
      take_directory(message.directory());
      return {};
    case v1::Control::kAssign: {
      auto assigned = slice_codec::decode(message.assign());
      if (!assigned) return node::refused(assigned.error());
      admission_.assign(std::move(*assigned));
      return {};
    }
    case v1::Control::kPortShare:
      builder_.collector.shaper().set_share(
          {std::max(1U, message.port_share().members()), message.port_share().base_ns()});
      return {};
    case v1::Control::kDestinations:
      return take_destinations(message.destinations());
    case v1::Control::kAbsences:
      return take_absences(message.absences());
    case v1::Control::kConfirm: {
      const auto confirmed = slice_codec::decode(message.confirm());
      if (!confirmed) return node::refused(confirmed.error());
      shipments_.confirm(*confirmed);
      return {};
    }
    case v1::Control::kFiltering:
      filter_.answered(message.filtering().serial());
      return {};
    case v1::Control::kBurstAlert:
      if (burst_) burst_->take(message.burst_alert());
      return {};
    case v1::Control::kReachVerdict:
      return take_verdict(message.reach_verdict());
    default:
      return Unexpected<wire::WireError>(wire::WireError::not_expected);
  }
}

void DcmNode::take_directory(const v1::Directory& directory) {
  Outlet& writers = shipments_.outlet();
  for (const v1::Directory::Node& node : directory.nodes()) {
    const ports::Endpoint at{node.host(), static_cast<std::uint16_t>(node.port())};
    const auto index = NodeIndex(static_cast<std::uint16_t>(node.index()));
    if (node.role() == v1::ROLE_DCM && fetcher_ && !node.present()) fetcher_->set_keeper(index, at, false);
    if (!node.present() || at.port == 0) continue;
    if (node.role() == v1::ROLE_WRITER && node.index() < writers.writers()) writers.set_writer(index, at);
    if (burst_ && node.role() == v1::ROLE_WRITER && node.index() < writers.writers())
      burst_->set_writer(index, at);
    if (node.role() == v1::ROLE_DCM && fetcher_) fetcher_->set_keeper(index, at, true);
    if (node.role() != v1::ROLE_READOUT || node.index() >= readouts_.size()) continue;
    std::vector<ports::Endpoint> ways{at};
    for (const v1::Address& plane : node.planes())
      ways.push_back({plane.host(), static_cast<std::uint16_t>(plane.port())});
    readouts_.set_readout(index, std::move(ways));
  }
}

Expected<void, wire::WireError> DcmNode::take_destinations(const v1::Destinations& message) {
  if (!pushing_) return node::refused({"Destinations", "epochs", 0});
  const auto taken = pushing_->take_destinations(message);
  if (!taken) return node::refused(taken.error());
  return {};
}

Expected<void, wire::WireError> DcmNode::take_absences(const v1::Absences& message) {
  const auto ranges = slice_codec::decode(message);
  if (!ranges) return node::refused(ranges.error());
  slice_rows::AbsenceTable absences;
  if (!absences.replace(*ranges)) return node::refused({"Absences", "ranges", 0});
  builder_.collector.set_absences(std::move(absences), now_ns_);
  return {};
}

void DcmNode::on_supervisor_gone() {
  reach_.lost();
  builder_.collector.set_verdict(std::vector<bool>(readouts_.size()), false);
  // The supervisor reassigns all slices of this DCM when it notices the loss. A DCM that was told to end has
  // only settled slices, and keeps waiting for its writers' acknowledgements.
  forget_told();
  shipments_.give_up_all(!course_.is_ending());
}

// ---- the end

// Every slice is settled. Slices that are still open were discarded at the end of the drain; acknowledgements
// of stored ones may be in transit.
void DcmNode::on_end_run() {
  course_.end(now_ns_);
  forget_told();
  shipments_.end_run();
  close_run();
}

void DcmNode::forget_told() {
  filter_.forget_told();
  if (fetcher_) fetcher_->forget_told();
}

bool DcmNode::run_ended() const {
  if (!course_.may_report_finally(admission_.in_flight() == 0 && filter_.in_flight() == 0, now_ns_))
    return false;
  // A filter that hangs is not told.
  if (course_.phase() == DcmPhase::ending) return filter_.in_flight() > 0;
  return course_.phase() != DcmPhase::over || filter_has_ended_;
}

void DcmNode::on_signal(std::string_view signal_name) {
  spdlog::warn("ending signal={}", signal_name);
  signalled_ = true;
}

std::string DcmNode::broken_invariant() {
  if (std::string broken = builder_.slices.broken_invariant(); !broken.empty()) return broken;
  const shaping::Shaper& shaper = builder_.collector.shaper();
  if (shaper.strict() && shaper.outstanding() > shaper.window()) return "requests exceed a strict quota";
  if (readouts_.planes() != nullptr && readouts_.planes()->choice().has_broken_hold())
    return "moved to another plane within the hold time of the last move";
  if (pushing_ && !pushing_->keeps_order()) return "a pushed slice went to the filter after a newer one";
  if (!builder_.assembler.is_empty()) return {};
  if (builder_.pool.bytes_used() > 0) return "memory is in use and no slice is open";
  if (histograms_.held() > 0) return "histogram entries are held and no slice is open";
  if (builder_.slices.accepted_bytes() > 0) return "bytes wait for a writer and no slice is open";
  if (burst_) {
    if (const std::string_view broken = burst_->ring().broken_invariant(); !broken.empty())
      return std::string(broken);
  }
  if (pushing_ && pushing_->unbound() > 0) return "slices wait for their assignment and no slice is open";
  return {};
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, DcmEnvironment environment) {
  return std::make_unique<DcmNode>(setup, std::move(environment));
}

}  // namespace weir::dcm
