#include "dcm_node.hpp"

#include "settings.hpp"
#include <weir/base/assert.hpp>
#include <weir/node/reach.hpp>
#include <weir/node/report.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;
using assembly::Decision;
using assembly::SliceState;

// What accepted slices may hold of the memory while they wait for their writer; beyond, decisions are held
// back, and with them the credits: back-pressure to the supervisor.
constexpr std::uint64_t kAcceptedShare = 2;
constexpr DurationNs kEndPatience = 2 * kSecond;
constexpr int kIsolationShare = 4;  // of a lease: for the units to come to rest, and for a suspect alone

std::uint64_t microseconds(DurationNs ns) {
  return ns > 0 ? static_cast<std::uint64_t>(ns / kMicrosecond) : 0;
}

}  // namespace

DcmNode::DcmNode(const node::Setup& setup, Environment environment)
    : setup_(setup),
      environment_(std::move(environment)),
      supervisor_(setup_.identity, setup_.limits, peer_counters_, setup_.supervisor,
                  setup_.farm.network().reconnect_ms() * kMillisecond,
                  setup_.farm.supervisor().status_interval_ms() * kMillisecond, *this, setup_.reports),
      memory_("weir-" + setup.identity.name, setup.farm.dcm().buffer_bytes()),
      pool_(memory_.bytes()),
      isolation_(setup_.farm.supervisor().lease_ms() * kMillisecond / kIsolationShare),
      sampler_(sampler_settings(setup_), setup_.identity.incarnation.value) {
  const std::size_t readouts = setup_.plan.of_role(Role::readout).size();
  assembler_ = std::make_unique<assembly::Assembler>(assembly_settings(setup_.farm),
                                                     source_table(setup_.plan), pool_, slices_);
  collector_ = std::make_unique<Collector>(collector_settings(setup_, pool_.bytes_total()), *assembler_,
                                           slices_, pool_, make_shaper(setup_));
  to_readouts_ = setup_.identity;
  to_readouts_.wants_timing = collector_->shaper().learns();
  outlet_ = std::make_unique<Outlet>(setup_.identity, setup_.limits, peer_counters_,
                                     setup_.farm.network().reconnect_ms() * kMillisecond,
                                     node::silence_ns(setup_.farm), setup_.plan.of_role(Role::writer).size(),
                                     slices_, static_cast<OutletEvents&>(*this));
  for (std::size_t i = 0; i < readouts; ++i) readouts_.emplace_back(node::silence_ns(setup_.farm));
  if (node::is_push(setup_.farm))
    pushing_ = std::make_unique<Pushing>(setup_.farm, static_cast<std::uint32_t>(readouts));
  load_filter();
  for (const v1::TriggerTypeSettings& type : setup_.farm.trigger().types()) {
    if (type.sources().empty()) continue;
    const std::vector<SourceId> sources(type.sources().begin(), type.sources().end());
    type_selections_.emplace(type.type(), collector_->select(sources));
  }
}

bool DcmNode::let_go() { return units_->stop(kEndPatience); }

DcmNode::~DcmNode() {
  units_.reset();  // waits for steps, which read slices
  slices_.for_each_open(destroy_state);
}

void DcmNode::load_filter() {
  const v1::FilterSettings& filter = setup_.farm.filter();
  std::vector<std::string> path(filter.search_path().begin(), filter.search_path().end());
  path.insert(path.end(), environment_.plugin_path.begin(), environment_.plugin_path.end());
  auto plugin = filter_host::FilterPlugin::load(filter.plugin(), path);
  if (!plugin) throw std::runtime_error("filter.plugin: " + plugin.error().text);
  plugin_ = *plugin;
  filter_host::FilterConfig config;
  config.parameters.assign(filter.parameters().begin(), filter.parameters().end());
  config.log = [](int level, std::string_view line) {
    constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                     spdlog::level::warn, spdlog::level::err};
    spdlog::log(kLevels[std::clamp(level, 0, 3)], "filter {}", line);
  };
  filter_host::ProcessingUnitsOptions options;
  options.units = setup_.farm.dcm().processing_units();
  options.jobs_max = setup_.farm.dcm().slices_max();
  options.wake = environment_.wake;
  auto units = filter_host::ProcessingUnits::create(plugin_, config, options);
  if (!units) throw std::runtime_error("filter " + plugin_->name() + ": " + units.error().text);
  units_ = std::move(*units);
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x}", plugin_->name(),
               plugin_->version(), plugin_->path(), plugin_->file_crc32c());
}

void DcmNode::pass(TimeNs now_ns) {
  now_ns_ = now_ns;
  supervisor_.tick(environment_.network, now_ns);
  tick_links();
  release_unreferenced();
  take_results();
  watch_filter();
  if (!sampler_.is_empty()) sampler_.expire(now_ns);
  open_assigned();
  look_at_reach();
  tell_partial_frames();
  if (pushing_) ask_for_overdue();
  if (run_begun_) collector_->pass(now_ns);
  if (cut_off_) hand_back_stranded();
  filter_completed();
  submit_jobs();
  send_requests();
  outlet_->tick(environment_.network, now_ns);
  release_unreferenced();
  report_decisions();
}

// ---- a slice's way

std::shared_ptr<const assembly::Selection> DcmNode::first_selection(const BuiltSlice& slice) const {
  if (!type_selections_.empty()) {
    const auto own = type_selections_.find(slice.assignment.type.value);
    if (own != type_selections_.end()) return own->second;
  }
  return first_selection_ ? first_selection_ : collector_->everything();
}

void DcmNode::open_assigned() {
  if (!run_begun_) return;
  slices_.for_each_in(SliceState::blocked, [this](BuiltSlice& slice) {
    if (!assembler_->full() && !slices_.is_open(slice.id())) open(slice);
  });
  while (BuiltSlice* next = slices_.first_in(SliceState::assigned)) {
    if (assembler_->full()) return;
    if (bind(*next)) continue;
    if (pushing_) drop_unbound(next->id());
    if (slices_.is_open(next->id())) {
      // An earlier attempt of it is still with the filter, or on its way to a writer. The lease goes on.
      block(*next);
    } else {
      open(*next);
    }
  }
}

// Of two attempts that wait the later one counts. The other's credit comes back with its decision alone.
void DcmNode::block(BuiltSlice& slice) {
  BuiltSlice* const earlier =
      slices_.find_in(SliceState::blocked, [&](const BuiltSlice& one) { return one.id() == slice.id(); });
  slices_.change(slice, SliceState::blocked);
  if (earlier == nullptr) return;
  v1::Control message;
  message.mutable_decide()->add_slice(earlier->id().value);
  message.mutable_decide()->add_attempt(earlier->attempt().value);
  message.mutable_decide()->add_verdict(v1::VERDICT_FAILED);
  message.mutable_decide()->add_failures()->set_reason("lost");
  slices_.change(*earlier, SliceState::spare);
  if (supervisor_.ready()) supervisor_.send(message);
}

void DcmNode::open(BuiltSlice& slice) {
  const auto opened = assembler_->open(slice, now_ns_);
  WEIR_ASSERT(opened.has_value());
  if (is_pushed_here(slice.id(), slice.attempt())) return open_pushed(slice, true);
  collector_->collect(slice, first_selection(slice));
}

void DcmNode::filter_completed() {
  completed_.clear();
  assembler_->take_completed(completed_);
  for (BuiltSlice* slice : completed_) {
    // Stays in the window: its assignment may never come.
    if (slice->awaits_assignment) {
      slices_.change(*slice, SliceState::unassigned);
    } else {
      enter_filter(*slice);
    }
  }
}

void DcmNode::enter_filter(BuiltSlice& slice) {
  if (slice.pushed) pushing_->window.left(slice.id());
  if (slice.step == 0) {
    // Of a pushed slice perhaps nothing has come.
    const TimeNs begun = slice.first_request_ns != 0 ? slice.first_request_ns : slice.last_fragment_ns;
    latency_.record(microseconds(slice.last_fragment_ns - begun));
    build_latency_.record(
        microseconds(slice.last_fragment_ns - (slice.pushed ? slice.due_ns : slice.assigned_ns)));
    if (!sampler_.is_empty()) sample_raw(slice);
  }
  if (slice.assignment.unfiltered) return decide(slice, Decision::accept(DecisionKind::poison));
  if (slice.flawed > 0 && setup_.farm.dcm().incomplete() == v1::DcmSettings::INCOMPLETE_DEBUG)
    return decide(slice, Decision::accept(DecisionKind::incomplete));
  weir_filter_slice& view = slice.view;
  view = filter_host::empty_slice();
  view.run = setup_.run.value;
  view.slice = slice.id().value;
  view.attempt = slice.attempt().value;
  view.step = slice.step;
  view.trigger_time_utc_ns = slice.assignment.time;
  view.duration_ns = slice.assignment.duration;
  view.trigger_type = slice.assignment.type.value;
  view.trigger_payload_size = static_cast<std::uint32_t>(slice.assignment.payload.size());
  view.trigger_payload = slice.assignment.payload.empty() ? nullptr : slice.assignment.payload.data();
  view.flags = slice.flawed > 0 ? WEIR_SLICE_INCOMPLETE : 0;
  view.fragment_count = static_cast<std::uint32_t>(slice.table.size());
  view.fragments = slice.table.data();
  view.state = &slice.filter_state;
  if (slice.assignment.suspect) slices_.change(slice, SliceState::suspect);
}

// The processing units know a slice by its place in the table.
filter_host::Job DcmNode::job_of(BuiltSlice& slice) { return {&slice.view, slice.slot}; }

void DcmNode::submit_jobs() {
  isolate();
  if (isolation_.is_open()) hand_over();
}

void DcmNode::hand_over() {
  jobs_.clear();
  slices_.for_each_in(SliceState::queued, [this](BuiltSlice& slice) { jobs_.push_back(job_of(slice)); });
  if (jobs_.empty()) return;
  const std::size_t taken = units_->submit(jobs_);
  for (std::size_t i = 0; i < taken; ++i)
    slices_.change(slices_.in_slot(jobs_[i].token), SliceState::filtering);
  counts_.steps += taken;
}

void DcmNode::take_results() {
  results_.clear();
  units_->drain(results_);
  for (filter_host::FilterResult* result : results_) {
    BuiltSlice& slice = slices_.in_slot(result->token);
    WEIR_ASSERT(assembly::is_with_filter(slice.state()));
    isolation_.returned(slice);
    if (slice.state() == SliceState::filtering) {
      act_on(slice, *result);
      continue;
    }
    filter_host::FilterResult* const held[] = {result};
    units_->recycle(held);
    release(slice);
  }
}

void DcmNode::act_on(BuiltSlice& slice, filter_host::FilterResult& result) {
  using filter_host::Verdict;
  filter_host::FilterResult* const held[] = {&result};
  switch (result.verdict) {
    case Verdict::reject:
      units_->recycle(held);
      return decide(slice, Decision::reject());
    case Verdict::accept:
      slice.result = &result;
      return decide(slice, Decision::accept(DecisionKind::filter));
    case Verdict::need_more:
      return need_more(slice, result);
    case Verdict::error:
      break;
  }
  if (++counts_.filter_errors == 1)
    spdlog::error("filter error slice={} reason=\"{}\"", slice.id().value, result.error);
  units_->recycle(held);
  if (setup_.farm.filter().on_error() == v1::FilterSettings::ON_ERROR_REJECT)
    return decide(slice, Decision::reject());
  decide(slice, Decision::accept(DecisionKind::no_filter));
}

void DcmNode::watch_filter() {
  const auto oldest = units_->oldest();
  if (oldest || !long_in_filter_.empty()) tell_long_in_filter();
  if (!oldest) return;
  if (environment_.clock.now_ns() - oldest->start_ns < setup_.farm.filter().step_deadline_ms() * kMillisecond)
    return;
  // Its result may be here by now, and the unit about to take its next job.
  const BuiltSlice& slice = slices_.in_slot(oldest->token);
  const std::pair named{slice.id(), slice.attempt()};
  if (!assembly::is_with_filter(slice.state()) || stalled_ == named) return;
  stalled_ = named;
  ++counts_.filter_stalled;
  spdlog::warn("filter stalls slice={}", slice.id().value);
}

void DcmNode::need_more(BuiltSlice& slice, filter_host::FilterResult& result) {
  assembler_->next_step(slice);
  if (result.need_all) {
    collector_->collect(slice, collector_->everything());
  } else {
    const std::vector<SourceId> sources(result.need_sources.begin(), result.need_sources.end());
    collector_->collect(slice, collector_->select(sources));
  }
  filter_host::FilterResult* const held[] = {&result};
  units_->recycle(held);
}

void DcmNode::decide(BuiltSlice& slice, const Decision& decision) {
  destroy_state(slice);
  slice.decision = decision;
  if (decision.accepted && !fits_a_record(slice)) slice.decision = Decision::fail("too_large");
  if (slice.state() == SliceState::waiting_for_memory || slice.state() == SliceState::collecting) {
    assembler_->withdraw(slice);
  } else {
    slices_.change(slice, SliceState::decided);
  }
  decision_latency_.record(microseconds(now_ns_ - slice.assigned_ns));
}

void DcmNode::report_decisions() {
  const bool some = !slices_.in(SliceState::decided).empty() || !slices_.in(SliceState::held_back).empty();
  if (!some || !supervisor_.ready()) return;
  v1::Control message;
  v1::Decide& decide = *message.mutable_decide();
  slices_.for_each_in(SliceState::held_back, [&](BuiltSlice& slice) { report_decision(slice, decide); });
  slices_.for_each_in(SliceState::decided, [&](BuiltSlice& slice) { report_decision(slice, decide); });
  if (decide.slice_size() > 0) supervisor_.send(message);
}

void DcmNode::report_decision(BuiltSlice& slice, v1::Decide& decide) {
  const bool accepted = slice.decision.accepted;
  const bool flawed = slice.flawed > 0;
  v1::Verdict verdict = flawed ? v1::VERDICT_REJECT_INCOMPLETE : v1::VERDICT_REJECT;
  if (accepted) verdict = flawed ? v1::VERDICT_ACCEPT_INCOMPLETE : v1::VERDICT_ACCEPT;
  if (accepted && slices_.accepted_bytes() > pool_.bytes_total() / kAcceptedShare) {
    if (slice.state() == SliceState::held_back) return;
    // Its lease would run out, and it is over with the filter.
    verdict = v1::VERDICT_HELD;
  } else if (!slice.decision.failure.empty()) {
    verdict = v1::VERDICT_FAILED;
    v1::Decide::Failure& failure = *decide.add_failures();
    failure.set_index(static_cast<std::uint32_t>(decide.slice_size()));
    failure.set_reason(std::string(slice.decision.failure));
  }
  decide.add_slice(slice.id().value);
  decide.add_attempt(slice.attempt().value);
  decide.add_verdict(verdict);
  if (verdict == v1::VERDICT_HELD) return slices_.change(slice, SliceState::held_back);
  counts_.accepted += accepted ? 1 : 0;
  slices_.change(slice, SliceState::reported);
}

std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment) {
  return std::make_unique<DcmNode>(setup, std::move(environment));
}

}  // namespace weir::dcm
