#pragma once

#include <weir/filter_host/instance.hpp>
#include <weir/filter_try/trial.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::filter_try {

// Plays the DCM for one filter instance: shows it the requested fragments of a recorded slice, and follows
// "need more" until the filter accepts, rejects or fails. One thread.
class SliceRunner {
 public:
  // Requires: begin_run() of `instance` has succeeded. `instance` and `run` outlive the runner.
  // `first_sources`: sources of the first step, ascending; nothing: the filter's own choice.
  SliceRunner(filter_host::FilterInstance& instance, const ingest::RecordedRun& run,
              std::optional<std::vector<std::uint32_t>> first_sources = std::nullopt);

  [[nodiscard]] SliceOutcome process(const ingest::RecordedSlice& slice);
  // Returns the histogram entries of the last slice, of all its steps; none if its filter failed.
  [[nodiscard]] std::span<const histograms::Addition> fills() const { return fills_; }

 private:
  void show(const ingest::RecordedSlice& slice);
  void request(std::size_t row);
  void request_more();
  [[nodiscard]] SliceOutcome outcome_of(const ingest::RecordedSlice& slice) const;

  filter_host::FilterInstance& instance_;
  const ingest::RecordedRun& run_;
  std::optional<std::vector<std::uint32_t>> first_sources_;
  std::vector<weir_filter_fragment> recorded_;  // a row per source of the run, as recorded
  std::vector<weir_filter_fragment> table_;     // the same rows, as the filter sees them
  weir_filter_slice view_{};
  filter_host::FilterResult result_;
  std::vector<histograms::Addition> fills_;
  std::uint64_t requested_bytes_ = 0;
  DurationNs process_ns_ = 0;
};

}  // namespace weir::filter_try
