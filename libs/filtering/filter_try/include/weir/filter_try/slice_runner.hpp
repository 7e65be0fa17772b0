#pragma once

#include <weir/filter_host/instance.hpp>
#include <weir/filter_try/trial.hpp>
#include <weir/ingest/recorded_run.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::filter_try {

// Plays the DCM for one filter instance: shows it the requested fragments of recorded slices, and follows
// "need more" until the filter accepts, rejects or fails. One thread.
class SliceRunner {
 public:
  static constexpr std::size_t kBatchSlices = 16;

  // Requires: begin_run() of `instance` has succeeded. `instance` and `run` outlive the runner.
  // `first_sources`: sources of the first step, ascending; nothing: the filter's own choice.
  SliceRunner(filter_host::FilterInstance& instance, const ingest::RecordedRun& run,
              std::optional<std::vector<std::uint32_t>> first_sources = std::nullopt);
  ~SliceRunner();
  SliceRunner(const SliceRunner&) = delete;
  SliceRunner& operator=(const SliceRunner&) = delete;

  // As LaneWorker::work_in_batches(): several slices may be open at a time, each in a step of its own.
  void work_in_batches(std::function<void(std::span<const weir_filter_slice>)> begin_batch) {
    begin_batch_ = std::move(begin_batch);
  }
  [[nodiscard]] bool has_room() const { return open_.size() < (begin_batch_ ? kBatchSlices : 1); }
  // Requires: has_room(). `slice` outlives the call of `decided` for it.
  void open(const ingest::RecordedSlice& slice);
  [[nodiscard]] bool is_idle() const { return open_.empty(); }

  // `fills`: the histogram entries of the slice's steps; none if its filter failed.
  using Decided = std::function<void(const ingest::RecordedSlice& slice, const SliceOutcome& outcome,
                                     std::span<const histograms::Addition> fills)>;
  // Runs one step of each open slice. Those that are decided leave. `decided` must not call back in here.
  void step(const Decided& decided);
  // Decides on one slice alone. The open ones stay as they are.
  [[nodiscard]] SliceOutcome process(const ingest::RecordedSlice& slice);

 private:
  struct OpenSlice;

  [[nodiscard]] std::unique_ptr<OpenSlice> show(const ingest::RecordedSlice& slice);
  void run_step(std::span<const std::unique_ptr<OpenSlice>> slices);
  void process(OpenSlice& one, const weir_filter_slice& view, DurationNs batch_share_ns);

  filter_host::FilterInstance& instance_;
  const ingest::RecordedRun& run_;
  std::optional<std::vector<std::uint32_t>> first_sources_;
  std::function<void(std::span<const weir_filter_slice>)> begin_batch_;  // empty: one by one
  std::vector<std::unique_ptr<OpenSlice>> open_;
  std::vector<std::unique_ptr<OpenSlice>> spare_;
  std::vector<weir_filter_slice> batch_;
};

}  // namespace weir::filter_try
