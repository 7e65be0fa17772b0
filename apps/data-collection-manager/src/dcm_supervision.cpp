// The DCM's side of its conversation with the supervisor.
#include "dcm_node.hpp"
#include <weir/assignment/reasons.hpp>
#include <weir/node/absences.hpp>
#include <weir/node/report.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;
using assembly::SliceState;

constexpr DurationNs kEndPatience = 2 * kSecond;
// Most credits are with the filter; nearly all of the memory is in use.
constexpr std::size_t kMost = 3;
constexpr std::size_t kMostParts = 4;
constexpr std::size_t kFull = 7;
constexpr std::size_t kFullParts = 8;
constexpr DurationNs kTraceFrom = kSecond;  // a run has started up by then

// An entry of a column that may be left out when it is all zero.
template <class Column>
auto at_or_zero(const Column& column, int index) {
  return index < column.size() ? column[index] : 0;
}

template <class Column>
bool fits(const Column& column, int rows) {
  return column.empty() || column.size() == rows;
}

Unexpected<wire::WireError> bad_payload() {
  return Unexpected<wire::WireError>(wire::WireError::bad_payload);
}

}  // namespace

void DcmNode::on_begin_run(const v1::BeginRun& begin) {
  if (run_begun_) return;
  filter_host::RunInfo run;
  run.run = RunNumber(begin.run());
  run.start_time = begin.utc_ns();
  for (const assembly::SourceInfo& source : assembler_->sources()) run.sources.push_back(source.id.value);
  if (auto begun = units_->begin_run(run); !begun) {
    failure_ = "filter " + plugin_->name() + ": " + begun.error().text;
    return;
  }
  const auto& configured = setup_.farm.filter().first_sources();
  if (!configured.empty()) {
    first_selection_ = collector_->select(std::vector<SourceId>(configured.begin(), configured.end()));
  } else if (const auto wish = units_->first_sources()) {
    first_selection_ = collector_->select(std::vector<SourceId>(wish->begin(), wish->end()));
  }
  run_begun_ = true;
  joined_ns_ = now_ns_;
  trace_.start(setup_.farm.dcm().trace_slices(), now_ns_ + kTraceFrom);
}

Expected<void, wire::WireError> DcmNode::on_supervisor_message(const v1::Control& message) {
  switch (message.body_case()) {
    case v1::Control::kDirectory:
      take_directory(message.directory());
      return {};
    case v1::Control::kAssign:
      return take_assignments(message.assign());
    case v1::Control::kPortShare:
      collector_->shaper().set_share(
          {std::max(1U, message.port_share().members()), message.port_share().base_ns()});
      return {};
    case v1::Control::kDestinations:
      if (!pushing_ || !node::take_destinations(message.destinations(), pushing_->destinations))
        return bad_payload();
      return {};
    case v1::Control::kAbsences: {
      assignment::AbsenceTable absences;
      if (!absences.replace(node::ranges_of(message.absences()))) return bad_payload();
      collector_->set_absences(std::move(absences), now_ns_);
      return {};
    }
    case v1::Control::kConfirm:
      return take_confirmations(message.confirm());
    case v1::Control::kFiltering:
      isolation_.answered(message.filtering().serial());
      return {};
    case v1::Control::kReachVerdict:
      return take_verdict(message.reach_verdict());
    default:
      return Unexpected<wire::WireError>(wire::WireError::not_expected);
  }
}

void DcmNode::take_directory(const v1::Directory& directory) {
  for (const v1::Directory::Node& node : directory.nodes()) {
    const ports::Endpoint at{node.host(), static_cast<std::uint16_t>(node.port())};
    const auto index = NodeIndex(static_cast<std::uint16_t>(node.index()));
    if (!node.present() || at.port == 0) continue;
    if (node.role() == v1::ROLE_WRITER && node.index() < outlet_->writers()) outlet_->set_writer(index, at);
    if (node.role() != v1::ROLE_READOUT || node.index() >= readouts_.size()) continue;
    Readout& readout = readouts_[node.index()];
    if (readout.link) {
      readout.link->redirect(at);
      continue;
    }
    readout.link = std::make_unique<messages::Link>(to_readouts_, static_cast<messages::PeerHandler&>(*this),
                                                    setup_.limits, peer_counters_, at,
                                                    setup_.farm.network().reconnect_ms() * kMillisecond);
    readout.link->tag = node.index();
    readout.link->expect(Role::readout, NodeIndex(static_cast<std::uint16_t>(node.index())));
  }
}

Expected<void, wire::WireError> DcmNode::take_assignments(const v1::Assign& assign) {
  const int rows = assign.slice_size();
  if (!fits(assign.attempt(), rows) || !fits(assign.time_ns(), rows) || !fits(assign.type(), rows)) {
    return bad_payload();
  }
  std::vector<assembly::Assignment> assigned(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    assembly::Assignment& one = assigned[static_cast<std::size_t>(i)];
    one.slice = SliceId(assign.slice(i));
    one.attempt = Attempt(static_cast<std::uint16_t>(at_or_zero(assign.attempt(), i)));
    one.time = at_or_zero(assign.time_ns(), i);
    one.duration = assign.duration_ns();
    one.type = TriggerType(at_or_zero(assign.type(), i));
  }
  for (const std::uint32_t index : assign.unfiltered()) {
    if (index < static_cast<std::uint32_t>(rows)) assigned[index].unfiltered = true;
  }
  for (const std::uint32_t index : assign.suspect()) {
    if (index < static_cast<std::uint32_t>(rows)) assigned[index].suspect = true;
  }
  for (const v1::Assign::Payload& payload : assign.payload()) {
    if (payload.index() >= static_cast<std::uint32_t>(rows)) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(payload.bytes().data());
    assigned[payload.index()].payload.assign(bytes, bytes + payload.bytes().size());
  }
  for (assembly::Assignment& one : assigned) slices_.assign(std::move(one));
  counts_.assigned += static_cast<std::uint64_t>(rows);
  return {};
}

Expected<void, wire::WireError> DcmNode::take_confirmations(const v1::Confirm& confirmations) {
  const int rows = confirmations.slice_size();
  if (!fits(confirmations.attempt(), rows) || !fits(confirmations.code(), rows) ||
      !fits(confirmations.epoch(), rows) || !fits(confirmations.writer(), rows)) {
    return bad_payload();
  }
  release_unreferenced();  // of these nothing is known any more
  v1::Control answer;
  v1::Decide& forgotten = *answer.mutable_decide();
  const auto say_lost = [&](std::uint64_t slice, Attempt attempt) {
    forgotten.add_slice(slice);
    forgotten.add_attempt(attempt.value);
    forgotten.add_verdict(v1::VERDICT_FAILED);
    v1::Decide::Failure& failure = *forgotten.add_failures();
    failure.set_index(static_cast<std::uint32_t>(forgotten.slice_size() - 1));
    failure.set_reason("lost");
  };
  for (int i = 0; i < rows; ++i) {
    const Attempt attempt(static_cast<std::uint16_t>(at_or_zero(confirmations.attempt(), i)));
    BuiltSlice* slice = slices_.find(SliceId(confirmations.slice(i)), attempt);
    if (slice != nullptr && slice->state() == SliceState::given_up) slice = nullptr;
    // A writer acknowledged it here and died before it told the supervisor: it has to be built anew.
    if (slice == nullptr && at_or_zero(confirmations.code(), i) == v1::CONFIRMATION_STORE) {
      say_lost(confirmations.slice(i), attempt);
      continue;
    }
    // A confirmation of something that was not reported from here is stale.
    if (slice == nullptr || !assembly::is_reported(slice->state())) continue;
    const auto code = static_cast<v1::Confirmation>(at_or_zero(confirmations.code(), i));
    const StoreEpoch epoch(static_cast<std::uint16_t>(at_or_zero(confirmations.epoch(), i)));
    const NodeIndex writer(static_cast<std::uint16_t>(at_or_zero(confirmations.writer(), i)));
    // The farm file has no such writer: the slice cannot be stored as confirmed, and is built anew.
    if (code == v1::CONFIRMATION_STORE && writer.value >= outlet_->writers()) {
      spdlog::debug("confirmation names an unknown writer slice={} writer={}", confirmations.slice(i),
                    writer.value);
      ++counts_.refused;
      say_lost(confirmations.slice(i), attempt);
      give_up(*slice);
      continue;
    }
    confirm(*slice, code, epoch, writer);
  }
  if (forgotten.slice_size() > 0) supervisor_.send(answer);
  return {};
}

void DcmNode::on_supervisor_ready() {
  joined_ns_ = now_ns_;
  reach_told_ = false;
}

void DcmNode::on_supervisor_gone() {
  // Its next process judges anew.
  cut_off_ = false;
  collector_->set_verdict(std::vector<bool>(readouts_.size()), false);
  // It gives all of this DCM's slices to others, as soon as it notices. Who was told to end has none that is
  // not settled, and waits on for what writers say of them.
  abandon_all(!ending_);
}

// Every slice is settled. What is open still was discarded when the drain had no more time; of what is stored
// the writer's word may be on its way.
void DcmNode::on_end_run() {
  ending_ = true;
  abandon_all(false);
  end_deadline_ns_ = now_ns_ + kEndPatience;
}

void DcmNode::write_trace() const {
  const std::string path = fmt::format("{}/run-{:06}-{}-arrivals.csv", setup_.farm.run().out(),
                                       setup_.run.value, setup_.self.name);
  std::ofstream file(path);
  file << trace_.csv();
  if (!file.flush()) return spdlog::warn("cannot write trace file={}", path);
  if (trace_.left_out() > 0) spdlog::warn("trace is full file={} left_out={}", path, trace_.left_out());
}

std::size_t DcmNode::slices_in_flight() const {
  return slices_.open_count() + slices_.in(SliceState::assigned).size() +
         slices_.in(SliceState::blocked).size();
}

bool DcmNode::run_ended() const {
  const bool at_rest = slices_in_flight() == 0 && units_->in_flight() == 0;
  return ending_ && (at_rest || now_ns_ >= end_deadline_ns_);
}

bool DcmNode::finished() const { return signalled_ || !failure_.empty() || supervisor_.finished(); }

void DcmNode::on_signal(std::string_view signal_name) {
  spdlog::warn("ends on signal={}", signal_name);
  signalled_ = true;
}

// What keeps its credits from coming back, where something does.
std::string DcmNode::state() const {
  using assignment::Reason;
  if (ending_) return "ending";
  if (!run_begun_) return "ready";
  const std::size_t with_filter =
      slices_.in(SliceState::queued).size() + slices_.in(SliceState::suspect).size() + units_->in_flight();
  const bool filter_waits = with_filter > setup_.farm.dcm().processing_units() &&
                            kMostParts * with_filter >= kMost * setup_.identity.credits;
  Reason reason = Reason::none;
  if (!slices_.in(SliceState::held_back).empty()) {
    reason = Reason::writer_too_slow;
  } else if (filter_waits) {
    reason = Reason::filter_too_slow;
  } else if (kFullParts * pool_.bytes_used() >= kFull * pool_.bytes_total()) {
    reason = Reason::dcm_buffer_full;
  }
  if (reason == Reason::none) return "running";
  return assignment::blocked_state(assignment::name(reason), setup_.identity.name);
}

v1::Report DcmNode::make_report(bool final) {
  if (final && run_begun_ && units_->in_flight() == 0 && !units_stopped_) {
    units_->end_run();
    units_stopped_ = true;
    if (trace_.on()) write_trace();
  }
  v1::Report report = node::begin_report(setup_.identity, now_ns_, final);
  auto& counters = *report.mutable_counters();
  const assembly::FragmentCounters& fragments = assembler_->counters();
  counters["dcm.assigned"] = counts_.assigned;
  counters["dcm.accepted"] = counts_.accepted;
  counters["dcm.filter_errors"] = counts_.filter_errors;
  counters["dcm.filter_stalled"] = counts_.filter_stalled;
  counters["dcm.steps"] = counts_.steps;
  counters["dcm.output_events"] = counts_.output_events;
  counters["dcm.refused"] = counts_.refused;
  for (std::size_t i = 0; i < storage::kStoreResults; ++i) {
    const std::string_view reason = storage::name(static_cast<storage::StoreResult>(i));
    if (outlet_->refused()[i] > 0)
      counters["dcm.records_refused." + std::string(reason)] = outlet_->refused()[i];
  }
  counters["dcm.handed_back"] = counts_.handed_back;
  counters["fragments.cancelled"] = fragments.cancelled;
  const std::size_t unheard =
      slices_.in(SliceState::storing).size() + slices_.in(SliceState::given_up).size();
  if (final && unheard > 0) counters["dcm.unheard"] = unheard;
  counters["fragments.requested"] = fragments.requested;
  counters["fragments.received"] = fragments.received;
  counters["fragments.truncated"] = fragments.truncated;
  counters["fragments.suppressed"] = fragments.suppressed;
  counters["fragments.corrupt"] = fragments.corrupt;
  counters["fragments.asked_again"] = fragments.asked_again;
  counters["fragments.late"] = fragments.late;
  counters["fragments.duplicate"] = fragments.duplicate;
  counters["fragments.unknown"] = fragments.unknown;
  counters["fragments.bytes"] = fragments.bytes;
  counters["fragments.bytes_arrived"] = counts_.arrived_bytes;
  for (std::size_t i = 1; i < fragments.missing.size(); ++i) {
    if (fragments.missing[i] == 0) continue;
    counters["fragments.missing." + std::string(name(static_cast<MissingReason>(i)))] = fragments.missing[i];
  }
  if (pushing_) {
    counters["push.opened_early"] = pushing_->opened_early;
    counters["push.never_assigned"] = pushing_->never_assigned;
    counters["push.pushed_out"] = pushing_->pushed_out;
    counters["push.asked_for"] = pushing_->asked_for;
    counters["push.no_memory"] = pushing_->no_memory;
  }
  report_taps(report);
  for (const auto& [name, value] : units_->metrics().counters) counters["filter." + name] = value;
  counters["shaper.overdrawn"] = collector_->overdrawn();
  auto& gauges = *report.mutable_gauges();
  gauges["slices_in_flight"] = static_cast<double>(slices_in_flight());
  gauges["buffer_bytes_used"] = static_cast<double>(pool_.bytes_used());
  const shaping::Shaper& shaper = collector_->shaper();
  gauges["shaper.window"] = static_cast<double>(shaper.window());
  gauges["shaper.outstanding"] = static_cast<double>(shaper.outstanding());
  gauges["shaper.base_us"] = static_cast<double>(shaper.base_ns()) / kMicrosecond;
  spdlog::debug("shaper window={} outstanding={} base_us={} piece_bytes={} received_bytes={} now_ns={}",
                shaper.window(), shaper.outstanding(), shaper.base_ns() / kMicrosecond, shaper.piece_bytes(),
                counts_.arrived_bytes, now_ns_);
  gauges["shipments_waiting"] = static_cast<double>(slices_.in(SliceState::storing).size());
  node::add_sum(report, "rejected", counts_.rejected);
  node::add_sum(report, "stored", counts_.stored);
  node::add_sum(report, "discarded", counts_.discarded);
  node::add_histogram(report, "latency_us", latency_);
  node::add_histogram(report, "build_latency_us", build_latency_);
  node::add_histogram(report, "decision_latency_us", decision_latency_);
  if (const auto oldest = units_->oldest_start_ns()) {
    gauges["filter.oldest_s"] = static_cast<double>(environment_.clock.now_ns() - *oldest) / kSecond;
  }
  node::add_network(report, environment_.stream_totals(), peer_counters_);
  node::add_process(report);
  report.set_state(state());
  (*report.mutable_notes())["filter"] = plugin_->name() + " " + plugin_->version();
  return report;
}

}  // namespace weir::dcm
