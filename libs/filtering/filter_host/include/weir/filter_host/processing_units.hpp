#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_host/error.hpp>
#include <weir/filter_host/filter_units.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/job.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weir::filter_host {

struct ProcessingUnitsOptions {
  std::size_t units = 1;        // 0: jobs run inside drain(), on the caller's thread
  std::size_t jobs_max = 4096;  // waiting, running and not yet drained
  std::size_t batch_max = 64;   // jobs that a unit takes at once, when they are short
  bool measure_cpu = false;     // fills FilterResult::cpu_ns, for two system calls a job
  // Called when there is something to drain and there was nothing before: by a unit's thread, or with units
  // == 0 by submit(). Must not call back in here. May be empty.
  std::function<void()> wake;
};

// K threads, each with its own instance of the filter, between a queue of jobs and a list of results. A
// filter that hangs cannot be ended inside the process: oldest() shows it, and what to do is the caller's
// decision.
class ProcessingUnits final : public FilterUnits {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<ProcessingUnits>, FilterError> create(
      const std::shared_ptr<const FilterPlugin>& plugin, const FilterConfig& config,
      ProcessingUnitsOptions options);
  // Ends as stop() does, and waits for running jobs.
  ~ProcessingUnits() override;
  ProcessingUnits(const ProcessingUnits&) = delete;
  ProcessingUnits& operator=(const ProcessingUnits&) = delete;

  // Both call the instances one after the other on this thread.
  [[nodiscard]] Expected<void, FilterError> begin_run(const RunInfo& run) override;
  void end_run() override;
  [[nodiscard]] std::string end_error() const override { return end_error_; }
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() override;

  [[nodiscard]] std::size_t submit(std::span<const Job> jobs) override;
  void drain(std::vector<FilterResult*>& out) override;
  void recycle(std::span<FilterResult* const> results) override;
  [[nodiscard]] std::size_t in_flight() const override;

  [[nodiscard]] std::optional<OldestJob> oldest() const override;
  void running(std::vector<OldestJob>& out) const override;
  // Any thread.
  [[nodiscard]] FilterMetricsSnapshot metrics() const override;
  [[nodiscard]] histograms::Layout histograms() const override;
  void measure_cpu() override;
  [[nodiscard]] DurationNs cpu_ns() const override;

  // Drops the jobs that wait and lets the units end. False when one has not after `patience_ns`: its thread
  // is then left to itself, with all that it needs except the slice it works on, and the process had better
  // end soon.
  [[nodiscard]] bool stop(DurationNs patience_ns) override;

 private:
  struct Shared;
  explicit ProcessingUnits(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<FilterResult>> storage_;
  std::vector<FilterResult*> free_;
  std::string end_error_;
};

}  // namespace weir::filter_host
