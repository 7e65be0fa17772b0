#include "crash_note.hpp"
#include <weir/base/assert.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_try/slice_runner.hpp>
#include <weir/filter_try/trial.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <span>
#include <string_view>
#include <thread>

namespace weir::filter_try {
namespace {

using filter_host::FilterInstance;

// Anonymous resident memory: mapped recordings do not count.
std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view kKey = "RssAnon:";
  constexpr std::uint64_t kKibi = 1024;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(kKey)) return std::strtoull(line.c_str() + kKey.size(), nullptr, 10) * kKibi;
  return 0;
}

// The slices to process, and the next one of them.
class Work {
 public:
  Work(std::size_t first, std::size_t count) : first_(first), end_(first + count), next_(first) {}

  // False: none is left.
  bool take(std::size_t& slice) {
    slice = next_.fetch_add(1, std::memory_order_relaxed);
    if (slice == (first_ + end_) / 2) middle_bytes_ = resident_bytes();
    return slice < end_;
  }
  [[nodiscard]] std::uint64_t middle_bytes() const { return middle_bytes_; }

 private:
  std::size_t first_;
  std::size_t end_;
  std::atomic<std::size_t> next_;
  std::atomic<std::uint64_t> middle_bytes_{0};
};

// One thread's share: outcomes go to their slices' places, which no other thread touches.
void run_share(FilterInstance& instance, const ingest::RecordedRun& run, const TrialOptions& options,
               Work& work, std::size_t first, std::vector<SliceOutcome>& outcomes,
               std::vector<SliceId>& inconsistent, histograms::Contents& histograms) {
  SliceRunner runner(instance, run, options.first_sources);
  if (instance.has_batches())
    runner.work_in_batches([&](std::span<const weir_filter_slice> slices) { instance.begin_batch(slices); });
  std::vector<const ingest::RecordedSlice*> decided;
  const auto decide = [&](const ingest::RecordedSlice& slice, const SliceOutcome& outcome,
                          std::span<const histograms::Addition> fills) {
    WEIR_ASSERT(static_cast<std::size_t>(&slice - run.slices.data()) - first < outcomes.size());
    outcomes[static_cast<std::size_t>(&slice - run.slices.data()) - first] = outcome;
    histograms.add(fills);
    decided.push_back(&slice);
  };
  while (true) {
    for (std::size_t slice = 0; runner.has_room() && work.take(slice);) runner.open(run.slices[slice]);
    if (runner.is_idle()) return;
    decided.clear();
    runner.step(decide);
    for (const ingest::RecordedSlice* slice : decided) {
      const SliceOutcome& outcome = outcomes[static_cast<std::size_t>(slice - run.slices.data()) - first];
      bool consistent = true;
      for (std::uint32_t i = 1; i < options.repeat; ++i)
        consistent = runner.process(*slice).same_decision(outcome) && consistent;
      if (!consistent) inconsistent.push_back(outcome.slice);
    }
  }
}

// Instances whose run has begun.
class Instances {
 public:
  ~Instances() { (void)end(); }
  Instances() = default;
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;

  // Ends the run and destroys the instances. Returns the first error of an end_run(), or nothing.
  std::string end() {
    std::string error;
    for (const auto& instance : begun_) {
      const FilterPhase phase("end_run()");
      std::string one = instance->end_run();
      if (error.empty()) error = std::move(one);
    }
    const FilterPhase phase("its destructor");
    begun_.clear();
    return error;
  }

  Expected<void, std::string> add(const std::shared_ptr<const filter_host::FilterPlugin>& plugin,
                                  const ingest::RecordedRun& run, const TrialOptions& options,
                                  filter_host::FilterMetrics& metrics) {
    filter_host::FilterConfig config;
    config.parameters = options.parameters;
    config.forwards_anywhere = true;
    config.groups = options.groups;
    auto made = [&] {
      const FilterPhase phase("its constructor");
      return FilterInstance::create(plugin, std::move(config), metrics);
    }();
    if (!made) return Unexpected<std::string>(made.error().text);
    filter_host::RunInfo info;
    info.run = run.slices.front().run;
    info.start_time = run.slices.front().time;
    for (const SourceId source : run.sources) info.sources.push_back(source.value);
    const FilterPhase phase("begin_run()");
    if (auto begun = (*made)->begin_run(info); !begun) return Unexpected<std::string>(begun.error().text);
    begun_.push_back(std::move(*made));
    return {};
  }
  [[nodiscard]] FilterInstance& operator[](std::size_t index) { return *begun_[index]; }

 private:
  std::vector<std::unique_ptr<FilterInstance>> begun_;
};

struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

Expected<Range, std::string> range_of(const ingest::RecordedRun& run, std::optional<SliceId> only) {
  if (!only) return Range{0, run.slices.size()};
  const auto found = std::ranges::lower_bound(run.slices, *only, {}, &ingest::RecordedSlice::slice);
  if (found == run.slices.end() || found->slice != *only) {
    return Unexpected<std::string>("slice " + std::to_string(only->value) +
                                   " is not recorded; the recording has slices " +
                                   std::to_string(run.slices.front().slice.value) + " to " +
                                   std::to_string(run.slices.back().slice.value));
  }
  return Range{static_cast<std::size_t>(found - run.slices.begin()), 1};
}

}  // namespace

Expected<TrialResult, std::string> run_trial(const std::shared_ptr<const filter_host::FilterPlugin>& plugin,
                                             const ingest::RecordedRun& run, const TrialOptions& options) {
  const auto range = range_of(run, options.slice);
  if (!range) return Unexpected<std::string>(range.error());
  filter_host::FilterMetrics metrics;
  Instances instances;
  const std::size_t jobs = std::clamp<std::size_t>(options.jobs, 1, range->count);
  for (std::size_t i = 0; i < jobs; ++i)
    if (auto added = instances.add(plugin, run, options, metrics); !added)
      return Unexpected<std::string>(added.error());

  TrialResult result;
  result.slices.resize(range->count);
  result.memory.begin = resident_bytes();
  const TimeNs start = monotonic_now_ns();
  Work work(range->first, range->count);
  std::vector<std::vector<SliceId>> inconsistent(jobs);
  std::vector<histograms::Contents> histograms(jobs, histograms::Contents(metrics.layout()));
  const auto share = [&](std::size_t job) {
    run_share(instances[job], run, options, work, range->first, result.slices, inconsistent[job],
              histograms[job]);
  };
  {
    const FilterPhase phase("another thread than that of a slice");
    std::vector<std::jthread> threads;
    for (std::size_t job = 1; job < jobs; ++job) threads.emplace_back(share, job);
    share(0);
  }
  result.wall_ns = monotonic_now_ns() - start;
  result.memory.middle = work.middle_bytes();
  result.memory.end = resident_bytes();
  for (const auto& slices : inconsistent)
    result.inconsistent.insert(result.inconsistent.end(), slices.begin(), slices.end());
  std::ranges::sort(result.inconsistent);
  result.metrics = metrics.snapshot();
  result.histograms = std::move(histograms.front());
  for (std::size_t job = 1; job < jobs; ++job) result.histograms.add(histograms[job]);
  result.end_error = instances.end();
  return result;
}

}  // namespace weir::filter_try
