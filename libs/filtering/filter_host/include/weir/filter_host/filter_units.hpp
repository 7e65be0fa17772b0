#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_host/error.hpp>
#include <weir/filter_host/filter_metrics.hpp>
#include <weir/filter_host/job.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::filter_host {

// A unit that is at work, and since when (steady clock).
struct OldestJob {
  std::uint64_t token = 0;
  TimeNs start_ns = 0;
};

// Kills of a slice that must be added to its count.
struct SliceKills {
  std::uint64_t token = 0;
  std::uint32_t number = 0;
};

// Filter workers as reports and displays name them. All zero for filters in the process.
struct WorkerFigures {
  std::uint32_t workers = 0;  // ready to take slices, spares included
  std::uint64_t restarts = 0;
  std::uint64_t poisoned = 0;  // slices
  std::uint64_t retried = 0;   // slices, each time
  std::uint64_t unkillable = 0;
  std::vector<std::pair<std::string, std::uint64_t>> ends;  // by reason
  std::vector<std::int64_t> pids;
  std::string memory_limit;  // "512 MiB by control group", or by RLIMIT_DATA with the reason; empty: none
  std::string note;          // pids, restarts, last reason; empty without workers
  std::string last_end;      // why a worker last ended; empty: none has
  // Why a worker could not be replaced in this run; empty: none.
  std::string replaced;
};

// Runs a farm's filter over slices: in threads of this process (ProcessingUnits), or in processes
// (WorkerUnits). All functions are for one thread, the caller's. Results come in no particular order.
class FilterUnits {
 public:
  virtual ~FilterUnits() = default;

  // Advances the creation, or the begin of a run, without waiting. Returns true when it is
  // complete. Errors: the filter does not start; these units can only be stopped.
  [[nodiscard]] virtual Expected<bool, FilterError> poll_start() { return true; }
  // Requires: in_flight() == 0, and poll_start() has returned true. The run has begun when poll_start()
  // returns true again.
  [[nodiscard]] virtual Expected<void, FilterError> begin_run(const RunInfo& run) = 0;
  // Requires: in_flight() == 0. Workers end the run by themselves, see poll_end().
  virtual void end_run() = 0;
  // Advances the end of the run without waiting. Returns true when the filter has ended it, or has had its
  // time.
  [[nodiscard]] virtual bool poll_end() { return true; }
  // Returns why the filter could not end the last run, as FilterInstance::end_run(); after poll_end().
  [[nodiscard]] virtual std::string end_error() const = 0;
  // As FilterInstance::first_sources(). Requires: the run has begun.
  [[nodiscard]] virtual std::optional<std::vector<std::uint32_t>> first_sources() = 0;

  // Takes the first of `jobs` while there is room, and returns how many.
  [[nodiscard]] virtual std::size_t submit(std::span<const Job> jobs) = 0;
  // Once in a pass, after the last submit().
  virtual void flush() {}
  // Appends finished results. The results stay this object's: give each back with recycle().
  virtual void drain(std::vector<FilterResult*>& out) = 0;
  virtual void recycle(std::span<FilterResult* const> results) = 0;
  [[nodiscard]] virtual std::size_t in_flight() const = 0;  // submitted and not drained

  // The job that has been running longest; nothing when all units are idle.
  [[nodiscard]] virtual std::optional<OldestJob> oldest() const = 0;
  // Appends the job of each unit that is at work.
  virtual void running(std::vector<OldestJob>& out) const = 0;
  [[nodiscard]] virtual FilterMetricsSnapshot metrics() const = 0;
  // Returns the booked histograms; FilterResult::fills names their cells. It may grow when a worker starts.
  [[nodiscard]] virtual histograms::Layout histograms() const = 0;
  // From now on FilterResult::cpu_ns is filled, for two system calls a job. Needs in_flight() == 0.
  virtual void measure_cpu() {}
  // Returns the CPU time of the filter's threads or processes; 0 where jobs run on the caller's thread.
  [[nodiscard]] virtual DurationNs cpu_ns() const { return 0; }

  // False when a filter is still in a step after `patience_ns`; the process had better end soon.
  [[nodiscard]] virtual bool stop(DurationNs patience_ns) = 0;

  // True if a filter that crashes or hangs costs its slice alone, and not the process.
  [[nodiscard]] virtual bool is_isolated() const { return false; }
  // Appends the kills since the last call. Right after drain(): the slices are still there.
  virtual void take_kills(std::vector<SliceKills>& /*out*/) {}
  [[nodiscard]] virtual WorkerFigures figures() const { return {}; }
  // Returns why the filter has stopped; empty if it runs.
  [[nodiscard]] virtual std::string failure() const { return {}; }

  [[nodiscard]] std::optional<TimeNs> oldest_start_ns() const {
    const std::optional<OldestJob> job = oldest();
    return job ? std::optional<TimeNs>(job->start_ns) : std::nullopt;
  }
};

}  // namespace weir::filter_host
