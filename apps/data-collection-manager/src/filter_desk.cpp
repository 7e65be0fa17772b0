#include "filter_desk.hpp"

#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/filter_host/processing_units.hpp>
#include <weir/filter_host/worker_units.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/report.hpp>
#include <weir/reports/filter_failures.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/slice_codec/filtering.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;

void write_log(int level, std::string_view line) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  spdlog::log(kLevels[std::clamp(level, 0, 3)], "filter {}", line);
}

// From a worker, so it may be anything.
std::string first_line(const std::string& text) {
  constexpr std::size_t kBytesMax = 1000;
  return clean_quoted(text.substr(0, text.find('\n')), kBytesMax);
}

std::vector<std::string> search_path(const FilterSettings& settings, const FilterSurroundings& around) {
  std::vector<std::string> path = settings.search_path;
  path.insert(path.end(), around.plugin_path.begin(), around.plugin_path.end());
  return path;
}

filter_host::FilterConfig with_log(filter_host::FilterConfig config) {
  config.log = write_log;
  return config;
}

}  // namespace

FilterDesk::FilterDesk(FilterSettings settings, const FilterSurroundings& around, const ports::Clock& clock,
                       Builder& builder, Decisions& decisions, HistogramStage& histograms, SliceWay& way,
                       const TimeNs& now_ns)
    : settings_(std::move(settings)),
      clock_(clock),
      builder_(builder),
      decisions_(decisions),
      histograms_(histograms),
      way_(way),
      now_ns_(now_ns),
      isolation_(settings_.isolation_ns) {
  if (settings_.isolated) {
    run_in_workers(around);
  } else {
    run_in_process(around);
  }
  histograms_.book([this] { return units_->histograms(); });
}

void FilterDesk::run_in_process(const FilterSurroundings& around) {
  auto plugin = filter_host::FilterPlugin::load(settings_.plugin, search_path(settings_, around));
  if (!plugin) throw std::runtime_error("filter.plugin: " + plugin.error().text);
  plugin_part_ = node::plugin_part(settings_.name, (*plugin)->path(), (*plugin)->file_crc32c());
  node::require(settings_.run_identity, plugin_part_);
  filter_host::ProcessingUnitsOptions options;
  options.units = settings_.units;
  options.jobs_max = settings_.jobs_max;
  options.wake = around.wake;
  auto units = filter_host::ProcessingUnits::create(*plugin, with_log(settings_.config), options);
  if (!units) throw std::runtime_error("filter " + (*plugin)->name() + ": " + units.error().text);
  units_ = std::move(*units);
  library_ = *plugin;
  plugin_ = (*plugin)->name() + " " + (*plugin)->version();
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x}", (*plugin)->name(),
               (*plugin)->version(), (*plugin)->path(), (*plugin)->file_crc32c());
}

void FilterDesk::run_in_workers(const FilterSurroundings& around) {
  if (!around.make_workers)
    throw std::runtime_error("filter.isolation: this process cannot start filter workers");
  builder_.memory.seal();
  workers_ = around.make_workers(builder_.memory.descriptor());
  filter_host::WorkerUnitsOptions options;
  options.pool = settings_.workers;
  options.jobs_max = settings_.jobs_max;
  options.rows_max = static_cast<std::uint32_t>(builder_.assembler.sources().size());
  options.memory_bytes = settings_.worker_memory_bytes;
  options.measure_cpu = settings_.measure_cpu;
  options.slice_memory = builder_.memory.bytes();
  auto units = filter_host::WorkerUnits::launch(settings_.plugin, search_path(settings_, around),
                                                with_log(settings_.config), options, *workers_);
  starting_ = units.get();
  units_ = std::move(units);
}

Expected<bool, std::string> FilterDesk::poll_start() {
  const auto done = units_->poll_start();
  if (!done) {
    return Unexpected<std::string>((plugin_.empty() ? "filter.plugin: " : "filter " + plugin_ + ": ") +
                                   done.error().text);
  }
  if (!*done || starting_ == nullptr) return *done;
  try {
    take_worker_plugin();
  } catch (const std::exception& error) {
    return Unexpected<std::string>(error.what());
  }
  return true;
}

// Throws std::runtime_error when the workers have loaded another file than the run's.
void FilterDesk::take_worker_plugin() {
  const filter_host::WorkerPlugin& plugin = starting_->plugin();
  plugin_ = plugin.name + " " + plugin.version;
  plugin_part_ = node::plugin_part(settings_.name, plugin.path, plugin.file_crc32c);
  node::require(settings_.run_identity, plugin_part_);
  spdlog::info("filter loaded plugin={} version={} path={} crc32c={:08x} workers={}", plugin.name,
               plugin.version, plugin.path, plugin.file_crc32c, units_->figures().workers);
  if (const std::string limit = units_->figures().memory_limit; !limit.empty())
    spdlog::info("filter workers limited memory=\"{}\"", limit);
  histograms_.book([this] { return units_->histograms(); });
  starting_ = nullptr;
}

FilterDesk::~FilterDesk() {
  // In this process no step may read a slice any more; workers keep the states, and are notified.
  if (settings_.isolated) builder_.slices.for_each_open(destroy_filter_state);
  units_.reset();
  builder_.slices.for_each_open(destroy_filter_state);
}

Expected<void, std::string> FilterDesk::begin_run(RunNumber number, UtcNs start_utc_ns) {
  filter_host::RunInfo run;
  run.run = number;
  run.start_time = start_utc_ns;
  for (const assembly::SourceInfo& source : builder_.assembler.sources())
    run.sources.push_back(source.id.value);
  if (auto begun = units_->begin_run(run); !begun)
    return Unexpected<std::string>("filter " + plugin_ + ": " + begun.error().text);
  return {};
}

std::optional<std::vector<SourceId>> FilterDesk::first_sources() {
  const auto wish = units_->first_sources();
  if (!wish) return std::nullopt;
  return std::vector<SourceId>(wish->begin(), wish->end());
}

void FilterDesk::count_steps() {
  steps_board_.enable();
  units_->measure_cpu();
}

void FilterDesk::take(BuiltSlice& slice) {
  WEIR_ASSERT(slice.state() == BuildState::queued && !slice.awaits_assignment);
  if (slice.assignment.unfiltered) {
    if (slice.result == nullptr) {  // else it was counted when it became poison here
      ++filtered_;
      ++poisoned_;
    }
    return decisions_.decide(slice, SliceDecision::accept(DecisionKind::poison), now_ns_);
  }
  if (slice.step == 0) show_first(slice);
  if (slice.is_incomplete() && settings_.incomplete_to_debug)
    return decisions_.decide(slice, SliceDecision::accept(DecisionKind::incomplete), now_ns_);
  if (settings_.isolated && slice.assignment.trigger_payload().size() > filter_host::LaneLayout::kPayloadMax)
    return decisions_.decide(slice, SliceDecision::fail("too_large"), now_ns_);
  make_view(slice);
  steps_board_.arrived(slice, now_ns_);
  if (slice.assignment.suspect && !settings_.isolated) builder_.slices.change(slice, BuildState::suspect);
}

// More than the first step names is here if the slice came whole, or if its steps begin again.
void FilterDesk::show_first(BuiltSlice& slice) {
  const auto& first = slice.first;
  if (first != nullptr && slice.gathering.selection != first) builder_.assembler.hide_unnamed(slice, *first);
}

void FilterDesk::make_view(BuiltSlice& slice) const {
  weir_filter_slice& view = slice.view;
  view = filter_host::empty_slice();
  view.run = settings_.run.value;
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

void FilterDesk::submit() {
  isolate();
  if (isolation_.is_open()) hand_over();
  if (settings_.isolated) units_->flush();
}

void FilterDesk::hand_over() {
  jobs_.clear();
  builder_.slices.for_each_in(BuildState::queued,
                              [this](BuiltSlice& slice) { jobs_.push_back(job_of(slice)); });
  if (jobs_.empty()) return;
  const std::size_t taken = units_->submit(jobs_);
  for (std::size_t i = 0; i < taken; ++i)
    builder_.slices.change(builder_.slices.in_slot(jobs_[i].token), BuildState::filtering);
  steps_ += taken;
}

void FilterDesk::isolate() {
  while (true) {
    const Isolation::Step step =
        isolation_.step(now_ns_, units_->in_flight(), builder_.slices.first_in(BuildState::suspect));
    if (step.tell) tell_filtering();
    if (!step.job) return;
    builder_.slices.change(*step.job, BuildState::queued);
    const filter_job::Job job[] = {job_of(*step.job)};
    if (units_->submit(job) == 0) continue;  // goes with the others
    builder_.slices.change(*step.job, BuildState::filtering);
    ++steps_;
  }
}

void FilterDesk::take_results() {
  results_.clear();
  units_->drain(results_);
  if (settings_.isolated) report_kills();
  for (filter_job::FilterResult* result : results_) {
    BuiltSlice& slice = builder_.slices.in_slot(result->token);
    WEIR_ASSERT(assembly::is_with_filter(slice.state()));
    isolation_.returned(slice);
    if (slice.state() == BuildState::filtering) {
      act_on(slice, *result);
      continue;
    }
    give_back(*result);
    way_.release(slice);
  }
}

void FilterDesk::act_on(BuiltSlice& slice, filter_job::FilterResult& result) {
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

void FilterDesk::failed(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  last_error_ = first_line(result.error);
  if (++errors_ == 1) first_error_ = last_error_;
  if (const auto count = log_limit_.ask("error " + last_error_, now_ns_))
    spdlog::error("filter error slice={} reason=\"{}\" count={}", slice.id().value, last_error_, *count);
  if (settings_.reject_failed) {
    give_back(result);
    return decisions_.decide(slice, SliceDecision::reject(), now_ns_);
  }
  slice.result = &result;  // its record has the reason
  decisions_.decide(slice, SliceDecision::accept(DecisionKind::no_filter), now_ns_);
}

void FilterDesk::poison(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  const std::string reason = first_line(result.error);
  if (++poisoned_ == 1) first_poison_ = reason;
  if (const auto count = log_limit_.ask("poison " + reason, now_ns_))
    spdlog::error("poison slice={} reason=\"{}\" count={}", slice.id().value, reason, *count);
  slice.result = &result;  // its record says why
  slice.assignment.unfiltered = true;
  gather(slice, builder_.collector.everything());
}

// The worker with the filter's state of it has ended.
void FilterDesk::restart(BuiltSlice& slice, filter_job::FilterResult& result) {
  histograms_.drop(slice);
  give_back(result);
  slice.filter_state = {};
  slice.step = 0;
  show_first(slice);
  make_view(slice);
  builder_.slices.change(slice, BuildState::queued);
}

void FilterDesk::report_kills() {
  kills_.clear();
  units_->take_kills(kills_);
  if (kills_.empty()) return;
  std::vector<slice_rows::FilterKill> rows;
  const filter_host::WorkerFigures figures = units_->figures();
  for (const filter_host::SliceKills& one : kills_) {
    const BuiltSlice& slice = builder_.slices.in_slot(one.token);
    if (const auto count = log_limit_.ask("end " + figures.last_end, now_ns_))
      spdlog::warn("filter worker ended slice={} attempt={} reason=\"{}\" count={} restarts={}",
                   slice.id().value, slice.attempt().value, first_line(figures.last_end), *count,
                   figures.restarts);
    rows.push_back({slice.id(), slice.attempt(), one.number});
  }
  slice_codec::encode(rows, *killed_.mutable_filter_kills());
  way_.tell_supervisor(killed_);
}

// The supervisor decides whether to take it, and counts it.
void FilterDesk::request_alert(const BuiltSlice& slice, const filter_job::AlertRequest& alert) {
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
  way_.tell_supervisor(message);
}

void FilterDesk::need_more(BuiltSlice& slice, filter_job::FilterResult& result) {
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

void FilterDesk::gather(BuiltSlice& slice, std::shared_ptr<const assembly::Selection> sources) {
  builder_.assembler.next_step(slice);
  builder_.collector.collect(slice, std::move(sources));
}

void FilterDesk::give_back(filter_job::FilterResult& result) {
  filter_job::FilterResult* const held[] = {&result};
  units_->recycle(held);
}

void FilterDesk::watch() {
  const auto oldest = units_->oldest();
  if (oldest || !long_in_filter_.empty()) tell_long_in_filter();
  if (!oldest) return;
  if (clock_.now_ns() - oldest->start_ns < settings_.step_deadline_ns) return;
  // Its result may be here by now, and the unit about to take its next job.
  const BuiltSlice& slice = builder_.slices.in_slot(oldest->token);
  const std::pair named{slice.id(), slice.attempt()};
  if (!assembly::is_with_filter(slice.state()) || stalled_ == named) return;
  stalled_ = named;
  ++stalls_;
  spdlog::warn("filter stalled slice={}", slice.id().value);
}

// Returns the number of the slice that a unit has held for longer than a step may take; empty: none.
std::string FilterDesk::held_slice() const {
  const auto oldest = units_->oldest();
  if (!oldest || clock_.now_ns() - oldest->start_ns < settings_.step_deadline_ns) return {};
  const BuiltSlice& slice = builder_.slices.in_slot(oldest->token);
  return assembly::is_with_filter(slice.state()) ? std::to_string(slice.id().value) : std::string();
}

void FilterDesk::forget_told() {
  isolation_.clear();
  long_in_filter_.clear();
}

void FilterDesk::tell_filtering() {
  slice_rows::FilterNote note;
  note.for_long = long_in_filter_;
  if (isolation_.alone())
    note.alone = slice_rows::Lease{isolation_.suspect()->id(), isolation_.suspect()->attempt()};
  v1::Control message;
  slice_codec::encode(note, isolation_.next_serial(), *message.mutable_filtering());
  way_.tell_supervisor(message);
}

// An expired lease is blamed only on slices that have been in the filter for half of it.
void FilterDesk::tell_long_in_filter() {
  running_.clear();
  units_->running(running_);
  std::vector<slice_rows::Lease> found;
  const TimeNs before = clock_.now_ns() - settings_.long_in_filter_ns;
  for (const filter_host::OldestJob& job : running_) {
    // Slices no longer in `filtering` have been returned, and the unit is about to take its next job.
    const BuiltSlice& slice = builder_.slices.in_slot(job.token);
    if (job.start_ns <= before && slice.state() == BuildState::filtering)
      found.push_back({slice.id(), slice.attempt()});
  }
  if (found == long_in_filter_) return;
  long_in_filter_ = std::move(found);
  tell_filtering();
}

void FilterDesk::add_to(v1::Report& report) const {
  reports::ReportCounters counters(report);
  counters["dcm.filtered"] = filtered_;
  counters["dcm.filter_errors"] = errors_;
  counters["dcm.poisoned"] = poisoned_;
  counters["dcm.filter_stalled"] = stalls_;
  counters["dcm.steps"] = steps_;
  reports::Gauges gauges(report);
  gauges["cpu.filter_s"] = static_cast<double>(units_->cpu_ns()) / kSecond;
  steps_board_.add_to(report);
  for (const auto& [name, value] : units_->metrics().counters) counters.of("filter.", name) = value;
  if (const auto oldest = units_->oldest_start_ns()) {
    gauges["filter.oldest_s"] = static_cast<double>(clock_.now_ns() - *oldest) / kSecond;
  }
  *report.mutable_ran()->add_parts() = plugin_part_;
  (*report.mutable_notes())["filter"] = plugin_;
  reports::note_filter_failure(report, first_error_, first_poison_);
  reports::note_filter_now(report, last_error_, held_slice());
  if (const std::string error = first_line(units_->end_error()); !error.empty())
    node::add_faults(report, std::vector{"the filter could not end the run: " + error});
  if (!settings_.group.empty()) (*report.mutable_notes())["group"] = settings_.group;
  if (settings_.isolated) add_workers_to(report);
}

void FilterDesk::add_workers_to(v1::Report& report) const {
  const filter_host::WorkerFigures figures = units_->figures();
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
