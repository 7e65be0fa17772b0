#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/filter_host/filter_metrics.hpp>
#include <weir/filter_host/instance.hpp>
#include <weir/filter_host/job.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/histograms/contents.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::filter_try {

// The filter's decision on one recorded slice, and its cost.
struct SliceOutcome {
  SliceId slice;
  filter_job::StepVerdict verdict = filter_job::StepVerdict::error;
  filter_job::Keep keep = filter_job::Keep::all;
  std::uint64_t streams = 0;
  std::uint32_t steps = 0;
  std::uint32_t events = 0;
  std::uint64_t event_bytes = 0;
  std::uint32_t result_bytes = 0;
  std::uint64_t requested_bytes = 0;  // of fragments, over all steps
  std::uint64_t recorded_bytes = 0;
  std::uint64_t output_digest = 0;  // of events, result, prescale and kept sources
  DurationNs process_ns = 0;        // in process(), over all steps
  std::string error;                // for Verdict::error

  // Same verdict, streams, kept data and output.
  [[nodiscard]] bool same_decision(const SliceOutcome& other) const;
};

struct TrialOptions {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<filter_host::NamedSources> groups;            // of the farm
  std::optional<std::vector<std::uint32_t>> first_sources;  // ascending; nothing: the filter's own choice
  std::uint32_t jobs = 1;                                   // threads, each with an instance; at least 1
  std::uint32_t repeat = 1;                                 // times that each slice is processed; at least 1
  std::optional<SliceId> slice;                             // this slice only
};

// Resident memory of the process without mapped files, in bytes.
struct MemoryUse {
  std::uint64_t begin = 0;   // before the first slice
  std::uint64_t middle = 0;  // after half of the slices
  std::uint64_t end = 0;
};

struct TrialResult {
  std::vector<SliceOutcome> slices;   // in the run's order
  std::vector<SliceId> inconsistent;  // slices that got another decision when they were repeated
  filter_host::FilterMetricsSnapshot metrics;
  histograms::Contents histograms;  // each slice once, however often it is repeated
  MemoryUse memory;
  DurationNs wall_ns = 0;
  std::string end_error;  // why the filter could not end the run; empty if it could
};

// Processes the recorded slices with `plugin`. Blocks; starts threads when options.jobs > 1.
// Errors: a sentence when the plugin refuses its parameters or the run, or the slice does not exist.
[[nodiscard]] Expected<TrialResult, std::string> run_trial(
    const std::shared_ptr<const filter_host::FilterPlugin>& plugin, const ingest::RecordedRun& run,
    const TrialOptions& options);

}  // namespace weir::filter_try
