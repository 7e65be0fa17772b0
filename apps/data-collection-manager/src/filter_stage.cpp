#include "filter_stage.hpp"

#include <weir/base/assert.hpp>
#include <weir/node/report.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/slice_codec/filtering.hpp>

#include <spdlog/spdlog.h>

#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;
using slice_rows::Lease;

Lease lease_of(const BuiltSlice& slice) { return {slice.id(), slice.attempt()}; }

}  // namespace

FilterStage::FilterStage(FilterSettings settings, const FilterSurroundings& around, const ports::Clock& clock,
                         Builder& builder, Decisions& decisions, HistogramStage& histograms,
                         SliceRouter& router, const TimeNs& now_ns)
    : settings_(std::move(settings)),
      clock_(clock),
      builder_(builder),
      decisions_(decisions),
      histograms_(histograms),
      router_(router),
      now_ns_(now_ns),
      runtime_(settings_.runtime, around, builder.memory, builder.assembler.sources()),
      isolation_(settings_.isolation_ns, settings_.runtime.units),
      long_steps_({settings_.long_in_filter_ns, settings_.step_deadline_ns}, builder.slices) {
  histograms_.book([this] { return units().histograms(); });
}

Expected<bool, std::string> FilterStage::poll_start() {
  auto done = runtime_.poll_start();
  if (runtime_.take_loaded()) histograms_.book([this] { return units().histograms(); });
  return done;
}

FilterStage::~FilterStage() {
  // In this process no step may read a slice any more; workers keep the states, and are notified.
  if (isolated()) builder_.slices.for_each_open(destroy_filter_state);
  runtime_.end();
  builder_.slices.for_each_open(destroy_filter_state);
}

std::optional<std::vector<SourceId>> FilterStage::first_sources() {
  const auto wish = units().first_sources();
  if (!wish) return std::nullopt;
  return std::vector<SourceId>(wish->begin(), wish->end());
}

void FilterStage::count_steps() {
  steps_board_.enable();
  units().measure_cpu();
}

void FilterStage::take(BuiltSlice& slice) {
  WEIR_ASSERT(slice.state() == BuildState::queued && !slice.awaits_assignment);
  if (slice.assignment.unfiltered) {
    if (slice.result == nullptr) {  // else it was counted when it became poison here
      ++filtered_;
      errors_.count_poison();
    }
    return decisions_.decide(slice, SliceDecision::accept(DecisionKind::poison), now_ns_);
  }
  if (slice.step == 0) show_first(slice);
  if (slice.is_incomplete() && settings_.incomplete_to_debug)
    return decisions_.decide(slice, SliceDecision::accept(DecisionKind::incomplete), now_ns_);
  if (isolated() && slice.assignment.trigger_payload().size() > filter_host::LaneLayout::kPayloadMax)
    return decisions_.decide(slice, SliceDecision::fail("too_large"), now_ns_);
  make_view(slice);
  steps_board_.arrived(slice, now_ns_);
  if (slice.assignment.suspect && !isolated()) builder_.slices.change(slice, BuildState::suspect);
}

// More than the first step names is here if the slice came whole, or if its steps begin again.
void FilterStage::show_first(BuiltSlice& slice) {
  const auto& first = slice.first;
  if (first != nullptr && slice.gathering.selection != first) builder_.assembler.hide_unnamed(slice, *first);
}

void FilterStage::make_view(BuiltSlice& slice) const {
  weir_filter_slice& view = slice.view;
  view = filter_host::empty_slice();
  view.run = settings_.runtime.run.value;
  view.slice = slice.id().value;
  view.attempt = slice.attempt().value;
  view.step = slice.step;
  view.trigger_time_utc_ns = slice.assignment.time;
  view.duration_ns = slice.assignment.duration;
  view.trigger_type = slice.assignment.type.value;
  const ConstBytes payload = slice.assignment.trigger_payload();
  view.trigger_payload_size = static_cast<std::uint32_t>(payload.size());
  view.trigger_payload = payload.empty() ? nullptr : payload.data();
  view.forwarded_size = slice.assignment.forwarded_bytes;
  view.forwarded = slice.assignment.forwarded_bytes == 0 ? nullptr : slice.assignment.forwarded().data();
  view.flags = slice.is_incomplete() ? WEIR_SLICE_INCOMPLETE : 0;
  view.fragment_count = static_cast<std::uint32_t>(slice.table.size());
  view.fragments = slice.table.data();
  view.state = &slice.filter_state;
}

void FilterStage::submit() {
  isolate();
  if (isolation_.is_open()) hand_over();
  if (isolated()) units().flush();
}

void FilterStage::hand_over() {
  jobs_.clear();
  builder_.slices.for_each_in(BuildState::queued,
                              [this](BuiltSlice& slice) { jobs_.push_back(job_of(slice)); });
  if (jobs_.empty()) return;
  const std::size_t taken = units().submit(jobs_);
  for (std::size_t i = 0; i < taken; ++i)
    builder_.slices.change(builder_.slices.in_slot(jobs_[i].token), BuildState::filtering);
  steps_ += taken;
}

BuiltSlice* FilterStage::next_suspect() {
  BuiltSlice* next = builder_.slices.first_in(BuildState::suspect);
  builder_.slices.for_each_in(BuildState::suspect, [&next](BuiltSlice& slice) {
    if (Isolation::goes_before(slice, *next)) next = &slice;
  });
  return next;
}

void FilterStage::isolate() {
  while (true) {
    const Isolation::Step step = isolation_.step(now_ns_, units().in_flight(), next_suspect());
    if (step.tell) {
      note_beside();
      tell_filtering();
    }
    if (!step.job) return;
    builder_.slices.change(*step.job, BuildState::queued);
    const filter_job::Job job[] = {job_of(*step.job)};
    if (units().submit(job) == 0) continue;  // goes with the others
    builder_.slices.change(*step.job, BuildState::filtering);
    ++steps_;
  }
}

void FilterStage::take_results() {
  results_.clear();
  units().drain(results_);
  if (isolated()) report_kills();
  for (filter_job::FilterResult* result : results_) {
    BuiltSlice& slice = builder_.slices.in_slot(result->token);
    WEIR_ASSERT(assembly::is_with_filter(slice.state()));
    isolation_.returned(slice);
    if (slice.state() == BuildState::filtering) {
      act_on(slice, *result);
      continue;
    }
    give_back(*result);
    router_.release(slice);
  }
}

void FilterStage::act_on(BuiltSlice& slice, filter_job::FilterResult& result) {
  using filter_job::StepVerdict;
  steps_board_.finished(slice, result, now_ns_);
  histograms_.take(slice, result);
  if (result.alert) request_alert(slice, *result.alert);
  if (result.verdict != StepVerdict::need_more && result.verdict != StepVerdict::restart) ++filtered_;
  switch (result.verdict) {
    case StepVerdict::reject:
      give_back(result);
      return decisions_.decide(slice, SliceDecision::reject(), now_ns_);
    case StepVerdict::accept:
      slice.result = &result;
      return decisions_.decide(slice, SliceDecision::accept(DecisionKind::filter), now_ns_);
    case StepVerdict::need_more:
      return need_more(slice, result);
    case StepVerdict::forward:
      slice.result = &result;
      return decisions_.decide(slice, SliceDecision::forward(), now_ns_);
    case StepVerdict::restart:
      return restart(slice, result);
    case StepVerdict::poison:
      return poison(slice, result);
    case StepVerdict::error:
      break;
  }
  failed(slice, result);
}

void FilterStage::failed(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  if (const auto line = errors_.note_error(result.error, now_ns_))
    spdlog::error("filter error slice={} reason=\"{}\" count={}", slice.id().value, line->reason,
                  line->count);
  if (settings_.reject_failed) {
    give_back(result);
    return decisions_.decide(slice, SliceDecision::reject(), now_ns_);
  }
  slice.result = &result;  // its record has the reason
  decisions_.decide(slice, SliceDecision::accept(DecisionKind::no_filter), now_ns_);
}

void FilterStage::poison(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  if (const auto line = errors_.note_poison(result.error, now_ns_))
    spdlog::error("poison slice={} reason=\"{}\" count={}", slice.id().value, line->reason, line->count);
  slice.result = &result;  // its record says why
  slice.assignment.unfiltered = true;
  gather(slice, builder_.collector.everything());
}

// The worker with the filter's state of it has ended.
void FilterStage::restart(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  give_back(result);
  slice.filter_state = {};
  slice.step = 0;
  show_first(slice);
  make_view(slice);
  builder_.slices.change(slice, BuildState::queued);
}

void FilterStage::report_kills() {
  kills_.clear();
  units().take_kills(kills_);
  if (kills_.empty()) return;
  std::vector<slice_rows::FilterKill> rows;
  const filter_host::WorkerFigures figures = units().figures();
  for (const filter_host::SliceKills& one : kills_) {
    const BuiltSlice& slice = builder_.slices.in_slot(one.token);
    if (const auto line = errors_.note_end(figures.last_end, now_ns_))
      spdlog::warn("filter worker ended slice={} attempt={} reason=\"{}\" count={} restarts={}",
                   slice.id().value, slice.attempt().value, line->reason, line->count, figures.restarts);
    rows.push_back({slice.id(), slice.attempt(), one.number});
  }
  slice_codec::encode(rows, *killed_.mutable_filter_kills());
  router_.tell_supervisor(killed_);
}

// The supervisor decides whether to take it, and counts it.
void FilterStage::request_alert(const BuiltSlice& slice, const filter_job::AlertRequest& alert) {
  std::int64_t before_ms = alert.before_ms;
  std::int64_t after_ms = alert.after_ms;
  if (before_ms == 0 && after_ms == 0) {
    before_ms = settings_.alert_before_ms;
    after_ms = settings_.alert_after_ms;
  }
  v1::Control message;
  v1::BurstAccount& wish = *message.mutable_burst_account();
  wish.mutable_alert()->set_from_ns(slice.view.trigger_time_utc_ns - before_ms * kMillisecond);
  wish.mutable_alert()->set_until_ns(slice.view.trigger_time_utc_ns + after_ms * kMillisecond);
  wish.set_reason(alert.reason);
  router_.tell_supervisor(message);
}

void FilterStage::need_more(BuiltSlice& slice, filter_job::FilterResult& result) {
  if (!result.prefetch_sources.empty()) {
    const std::vector<SourceId> hint(result.prefetch_sources.begin(), result.prefetch_sources.end());
    slice.gathering.hint = builder_.collector.select(hint);
  }
  if (result.need_all) {
    gather(slice, builder_.collector.everything());
  } else {
    const std::vector<SourceId> sources(result.need_sources.begin(), result.need_sources.end());
    gather(slice, builder_.collector.select(sources));
  }
  give_back(result);
}

void FilterStage::gather(BuiltSlice& slice, std::shared_ptr<const assembly::Selection> sources) {
  builder_.assembler.next_step(slice);
  builder_.collector.collect(slice, std::move(sources));
}

void FilterStage::give_back(filter_job::FilterResult& result) {
  filter_job::FilterResult* const held[] = {&result};
  units().recycle(held);
}

void FilterStage::watch() {
  const auto oldest = units().oldest();
  const TimeNs now_ns = clock_.now_ns();
  if (oldest || !long_steps_.long_ones().empty()) {
    running_.clear();
    units().running(running_);
    if (long_steps_.find_long(running_, now_ns)) tell_filtering();
  }
  if (!oldest) return;
  if (const auto slice = long_steps_.find_stalled(*oldest, now_ns))
    spdlog::warn("filter stalled slice={}", slice->value);
}

void FilterStage::forget_told() {
  isolation_.clear();
  beside_.clear();
  long_steps_.forget_long();
}

// No ordinary jobs are with the units now, unless they hang.
void FilterStage::note_beside() {
  beside_.clear();
  for (const BuildState state : {BuildState::filtering, BuildState::abandoned}) {
    for (const BuiltSlice& slice : builder_.slices.in(state))
      if (&slice != isolation_.suspect()) beside_.push_back(lease_of(slice));
  }
}

void FilterStage::tell_filtering() {
  slice_rows::FilterNote note;
  note.for_long = long_steps_.long_ones();
  if (const BuiltSlice* suspect = isolation_.suspect()) note.suspect = lease_of(*suspect);
  note.beside = beside_;
  v1::Control message;
  slice_codec::encode(note, isolation_.next_serial(), *message.mutable_filtering());
  router_.tell_supervisor(message);
}

void FilterStage::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["dcm.filtered"] = filtered_;
  counters["dcm.filter_stalled"] = long_steps_.stalls();
  counters["dcm.steps"] = steps_;
  reports::Gauges gauges(report);
  gauges["cpu.filter_s"] = static_cast<double>(units().cpu_ns()) / kSecond;
  steps_board_.add_to(report);
  for (const auto& [name, value] : units().metrics().counters) counters.of("filter.", name) = value;
  if (const auto oldest = units().oldest_start_ns()) {
    gauges["filter.oldest_s"] = static_cast<double>(clock_.now_ns() - *oldest) / kSecond;
  }
  *report.mutable_ran()->add_parts() = runtime_.plugin_part();
  (*report.mutable_notes())["filter"] = runtime_.plugin();
  const auto held = long_steps_.held(units().oldest(), clock_.now_ns());
  errors_.add_to(report, held ? std::to_string(held->value) : std::string());
  if (const std::string error = first_line(units().end_error()); !error.empty())
    node::add_faults(report, std::vector{"the filter could not end the run: " + error});
  if (!settings_.group.empty()) (*report.mutable_notes())["group"] = settings_.group;
  if (isolated()) add_workers_to(report);
}

void FilterStage::add_workers_to(v1::Report& report) const {
  const filter_host::WorkerFigures figures = units().figures();
  reports::ReportCounters counters(report);
  counters["dcm.worker_restarts"] = figures.restarts;
  counters["dcm.worker_unkillable"] = figures.unkillable;
  counters["dcm.retried"] = figures.retried;
  for (const auto& [reason, number] : figures.ends) {
    if (number > 0) counters.of("dcm.worker_ends.", reason) = number;
  }
  reports::Gauges gauges(report);
  gauges["dcm.workers"] = figures.workers;
  (*report.mutable_notes())["filter_workers"] = figures.note;
  reports::note_worker_end(report, figures.last_end);
  if (!figures.replaced.empty())
    node::add_faults(report,
                     std::vector{"a filter worker cannot be replaced: " + first_line(figures.replaced)});
}

}  // namespace weir::dcm
