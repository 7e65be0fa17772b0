#pragma once

#include "builder.hpp"
#include "decisions.hpp"
#include "filter_errors.hpp"
#include "filter_runtime.hpp"
#include "histogram_stage.hpp"
#include "isolation.hpp"
#include "long_steps.hpp"
#include "slice_router.hpp"
#include "step_board.hpp"
#include <weir/ports/clock.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::dcm {

struct FilterSettings {
  FilterRuntimeSettings runtime;
  DurationNs isolation_ns;       // for the units to become idle, and for a suspect alone
  DurationNs long_in_filter_ns;  // such slices are to blame for an expired lease
  DurationNs step_deadline_ns;   // a longer step is stalled
  bool incomplete_to_debug;      // incomplete slices are accepted unfiltered
  bool reject_failed;            // a slice whose filter fails is rejected
  std::int64_t alert_before_ms;  // window of an alert of the filter that gives none
  std::int64_t alert_after_ms;
  std::string group;  // of this DCM; empty: a farm without groups
};

// Passes complete slices to the filter's units and handles their results. With a filter in this process
// suspects run alone, and the supervisor is notified which slice is to blame if the process dies; kills of
// filter workers are reported to it.
class FilterStage {
 public:
  // Throws std::runtime_error with a sentence when the plugin cannot be had.
  FilterStage(FilterSettings settings, const FilterSurroundings& around, const ports::Clock& clock,
              Builder& builder, Decisions& decisions, HistogramStage& histograms, SliceRouter& router,
              const TimeNs& now_ns);
  // Waits for running steps, which read slices. Destroys the filter's states of open slices before the
  // plugin.
  ~FilterStage();
  FilterStage(const FilterStage&) = delete;
  FilterStage& operator=(const FilterStage&) = delete;

  // Advances the start of the filter's workers, or their begin of the run, without waiting. Returns true when
  // it is complete, which it is at once for a filter in this process. Errors: why the filter does not start.
  [[nodiscard]] Expected<bool, std::string> poll_start();
  // Requires: poll_start() has returned true; the run has begun when it does so again. Errors: why the filter
  // does not begin it.
  [[nodiscard]] Expected<void, std::string> begin_run(RunNumber run, UtcNs start_utc_ns) {
    return runtime_.begin_run(run, start_utc_ns);
  }
  // Requires: the units have no jobs.
  void end_run() { units().end_run(); }
  // As FilterUnits::poll_end().
  [[nodiscard]] bool poll_end() { return units().poll_end(); }
  [[nodiscard]] std::optional<std::vector<SourceId>> first_sources();

  // The first step does not get all sources: steps are counted, with their CPU time.
  void count_steps();

  // A slice that is `queued`: decided unseen, or made ready for the units.
  void take(assembly::BuiltSlice& slice);
  void submit();
  void take_results();
  // Looks for steps that take too long.
  void watch();
  // The supervisor has received the note with this serial. forget_told(): the supervisor has left, and so are
  // its notes.
  void answered(std::uint64_t serial) { isolation_.answered(serial); }
  void forget_told();

  void give_back(filter_job::FilterResult& result);
  [[nodiscard]] std::size_t in_flight() const { return units().in_flight(); }
  // As FilterUnits::stop().
  [[nodiscard]] bool stop(DurationNs patience_ns) { return units().stop(patience_ns); }
  // Returns why the filter has stopped; empty if it runs.
  [[nodiscard]] std::string failure() const { return units().failure(); }
  void add_to(v1::Report& report) const;
  // Pids, restarts and the last failure of its workers; empty without workers.
  [[nodiscard]] std::string workers_note() const { return units().figures().note; }

 private:
  // The units identify a slice by its place in the table.
  [[nodiscard]] static filter_job::Job job_of(assembly::BuiltSlice& slice) {
    return {&slice.view, slice.slot, slice.assignment.kills};
  }
  [[nodiscard]] filter_host::FilterUnits& units() const { return runtime_.units(); }
  [[nodiscard]] bool isolated() const { return settings_.runtime.isolated; }
  void show_first(assembly::BuiltSlice& slice);
  void make_view(assembly::BuiltSlice& slice) const;
  void hand_over();
  // Null: none waits.
  [[nodiscard]] assembly::BuiltSlice* next_suspect();
  void isolate();
  void act_on(assembly::BuiltSlice& slice, filter_job::FilterResult& result);
  void need_more(assembly::BuiltSlice& slice, filter_job::FilterResult& result);
  // Requests these sources: the slice is taken again when they are here.
  void gather(assembly::BuiltSlice& slice, std::shared_ptr<const assembly::Selection> sources);
  void restart(assembly::BuiltSlice& slice, filter_job::FilterResult& result);
  void poison(assembly::BuiltSlice& slice, filter_job::FilterResult& result);
  void report_kills();
  void request_alert(const assembly::BuiltSlice& slice, const filter_job::AlertRequest& alert);
  void add_workers_to(v1::Report& report) const;
  void failed(assembly::BuiltSlice& slice, filter_job::FilterResult& result);
  void note_beside();
  void tell_filtering();

  const FilterSettings settings_;
  const ports::Clock& clock_;
  Builder& builder_;
  Decisions& decisions_;
  HistogramStage& histograms_;
  SliceRouter& router_;
  const TimeNs& now_ns_;
  FilterRuntime runtime_;
  std::vector<filter_job::Job> jobs_;  // of this pass
  std::vector<filter_job::FilterResult*> results_;
  std::vector<filter_host::OldestJob> running_;
  std::vector<filter_host::SliceKills> kills_;
  v1::Control killed_;  // the message, of this pass
  Isolation isolation_;
  std::vector<slice_rows::Lease> beside_;  // in the filter when the supervisor was last notified of a suspect
  StepBoard steps_board_;
  LongSteps long_steps_;
  FilterErrors errors_;
  std::uint64_t filtered_ = 0;  // slices with a last verdict: of the filter, or because it failed
  std::uint64_t steps_ = 0;
};

}  // namespace weir::dcm
