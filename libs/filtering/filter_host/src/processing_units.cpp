#include <weir/base/assert.hpp>
#include <weir/base/bounded_queue.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_host/processing_units.hpp>
#include <weir/last_words/last_words.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <time.h>

namespace weir::filter_host {
namespace {

// A unit takes as many jobs as it expects to finish in this time, and shows results at least this often: long
// enough to share the cost of a lock, short against anything that waits for a decision.
constexpr DurationNs kBatchTime = 100 * kMicrosecond;
constexpr DurationNs kIdle = 0;
constexpr std::size_t kCacheLine = 64;

DurationNs thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

// Shared by the units' threads and the caller; a thread that hangs keeps it alive.
struct ProcessingUnits::Shared {
  struct QueuedJob {
    Job job;
    FilterResult* result = nullptr;
  };

  struct alignas(kCacheLine) Unit {
    std::unique_ptr<FilterInstance> instance;
    DurationNs mean_ns = kBatchTime;  // of a job; the unit's thread only
    std::vector<FilterResult*> done;  // the unit's thread only
    std::atomic<TimeNs> start_ns{kIdle};
    std::atomic<std::uint64_t> token{0};
  };

  static std::optional<OldestJob> job_of(const Unit& unit) {
    const TimeNs start = unit.start_ns.load(std::memory_order_acquire);
    const std::uint64_t token = unit.token.load(std::memory_order_relaxed);
    // A unit that went on meanwhile does not hang; its token may belong to the next job.
    const bool same = unit.start_ns.load(std::memory_order_acquire) == start;
    if (start == kIdle || !same) return std::nullopt;
    return OldestJob{token, start};
  }

  explicit Shared(ProcessingUnitsOptions options_)
      : options(std::move(options_)), waiting(options.jobs_max), in_flight(0) {}

  void run_unit(Unit& unit);
  std::size_t take(Unit& unit, std::vector<QueuedJob>& batch);
  void run_batch(Unit& unit, const std::vector<QueuedJob>& batch);
  TimeNs run_job(Unit& unit, const QueuedJob& queued, TimeNs start);
  [[nodiscard]] bool publish(Unit& unit);
  void call_wake() const {
    if (options.wake) options.wake();
  }

  ProcessingUnitsOptions options;  // measure_cpu may be set between runs
  FilterMetrics metrics;
  std::vector<std::unique_ptr<Unit>> units;
  std::vector<std::thread> threads;

  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable ended;
  BoundedQueue<QueuedJob> waiting;
  std::vector<FilterResult*> finished;
  std::size_t sleeping = 0;
  std::size_t running_threads = 0;
  bool stopping = false;

  std::size_t in_flight;  // the caller's thread only
};

// Expects the lock. Leaves idle siblings their share.
std::size_t ProcessingUnits::Shared::take(Unit& unit, std::vector<QueuedJob>& batch) {
  const std::size_t share = (waiting.size() + units.size() - 1) / units.size();
  const auto in_time = static_cast<std::size_t>(kBatchTime / std::max<DurationNs>(unit.mean_ns, 1));
  const std::size_t count = std::min({share, options.batch_max, std::max<std::size_t>(in_time, 1)});
  batch.clear();
  for (std::size_t i = 0; i < count; ++i) batch.push_back(waiting.pop());
  return count;
}

// Expects the lock. True when the results were empty before.
bool ProcessingUnits::Shared::publish(Unit& unit) {
  if (unit.done.empty()) return false;
  const bool edge = finished.empty();
  finished.insert(finished.end(), unit.done.begin(), unit.done.end());
  unit.done.clear();
  return edge;
}

TimeNs ProcessingUnits::Shared::run_job(Unit& unit, const QueuedJob& queued, TimeNs start) {
  unit.token.store(queued.job.token, std::memory_order_relaxed);
  unit.start_ns.store(start, std::memory_order_release);
  const bool measures_cpu = options.measure_cpu && options.units > 0;
  const DurationNs cpu_before = measures_cpu ? thread_cpu_ns() : 0;
  queued.result->token = queued.job.token;
  last_words::note_slice(SliceId(queued.job.slice->slice));
  unit.instance->process(*queued.job.slice, *queued.result);
  last_words::clear_slice();
  const TimeNs end = awake_now_ns();
  // Inside drain() nothing is measured: a simulation repeats.
  if (options.units > 0) queued.result->wall_ns = end - start;
  if (measures_cpu) queued.result->cpu_ns = thread_cpu_ns() - cpu_before;
  constexpr DurationNs kMemory = 8;  // jobs that the running mean looks back on
  unit.mean_ns += (end - start - unit.mean_ns) / kMemory;
  unit.done.push_back(queued.result);
  return end;
}

void ProcessingUnits::Shared::run_batch(Unit& unit, const std::vector<QueuedJob>& batch) {
  TimeNs now = awake_now_ns();
  TimeNs shown = now;
  for (const QueuedJob& queued : batch) {
    if (now - shown > kBatchTime) {
      shown = now;
      std::unique_lock lock(mutex);
      const bool wake = publish(unit) && !stopping;
      lock.unlock();
      if (wake) call_wake();
    }
    now = run_job(unit, queued, now);
  }
  unit.start_ns.store(kIdle, std::memory_order_release);
}

void ProcessingUnits::Shared::run_unit(Unit& unit) {
  std::vector<QueuedJob> batch;
  std::unique_lock lock(mutex);
  while (true) {
    if (publish(unit) && !stopping) {
      lock.unlock();
      call_wake();
      lock.lock();
    }
    if (stopping) break;
    if (waiting.empty()) {
      ++sleeping;
      work.wait(lock, [this] { return stopping || !waiting.empty(); });
      --sleeping;
      if (stopping) break;
    }
    take(unit, batch);
    // One wakes the next, as long as there is work left: short jobs never wake units they do not need.
    const bool wake_sibling = !waiting.empty() && sleeping > 0;
    lock.unlock();
    if (wake_sibling) work.notify_one();
    run_batch(unit, batch);
    lock.lock();
  }
  --running_threads;
  ended.notify_all();
}

ProcessingUnits::ProcessingUnits(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

Expected<std::unique_ptr<ProcessingUnits>, FilterError> ProcessingUnits::create(
    const std::shared_ptr<const FilterPlugin>& plugin, const FilterConfig& config,
    ProcessingUnitsOptions options) {
  WEIR_ASSERT(options.jobs_max > 0 && options.batch_max > 0);
  const std::size_t threads = options.units;
  auto shared = std::make_shared<Shared>(std::move(options));
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    auto instance = FilterInstance::create(plugin, config, shared->metrics);
    if (!instance) return Unexpected<FilterError>(instance.error());
    shared->units.push_back(std::make_unique<Shared::Unit>());
    shared->units.back()->instance = std::move(*instance);
  }
  std::unique_ptr<ProcessingUnits> made(new ProcessingUnits(shared));
  for (std::size_t i = 0; i < threads; ++i) {
    const std::lock_guard lock(shared->mutex);
    // Each thread holds Shared, so that one which is left to itself does not read freed memory.
    shared->threads.emplace_back([shared, unit = shared->units[i].get()] { shared->run_unit(*unit); });
    ++shared->running_threads;
  }
  return made;
}

ProcessingUnits::~ProcessingUnits() {
  if (!shared_->threads.empty()) (void)stop(std::numeric_limits<DurationNs>::max());
}

bool ProcessingUnits::stop(DurationNs patience_ns) {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  while (!shared_->waiting.empty()) shared_->waiting.pop();
  lock.unlock();
  shared_->work.notify_all();
  lock.lock();
  const auto all_ended = [this] { return shared_->running_threads == 0; };
  constexpr DurationNs kForever = 365 * 24 * 3600 * kSecond;
  const bool clean =
      shared_->ended.wait_for(lock, std::chrono::nanoseconds(std::min(patience_ns, kForever)), all_ended);
  lock.unlock();
  for (std::thread& thread : shared_->threads) {
    if (clean) {
      thread.join();
    } else {
      thread.detach();
    }
  }
  shared_->threads.clear();
  if (!clean) {
    for (auto& result : storage_) (void)result.release();  // a thread may still write to one of them
  }
  return clean;
}

Expected<void, FilterError> ProcessingUnits::begin_run(const RunInfo& run) {
  WEIR_ASSERT(in_flight() == 0);
  const std::lock_guard lock(shared_->mutex);
  for (const auto& unit : shared_->units) {
    if (auto begun = unit->instance->begin_run(run); !begun) return begun;
  }
  return {};
}

void ProcessingUnits::end_run() {
  WEIR_ASSERT(in_flight() == 0);
  const std::lock_guard lock(shared_->mutex);
  end_error_.clear();
  for (const auto& unit : shared_->units) {
    std::string error = unit->instance->end_run();
    if (end_error_.empty()) end_error_ = std::move(error);
  }
}

std::optional<std::vector<std::uint32_t>> ProcessingUnits::first_sources() {
  const std::lock_guard lock(shared_->mutex);
  return shared_->units.front()->instance->first_sources();
}

std::size_t ProcessingUnits::submit(std::span<const Job> jobs) {
  const std::size_t count = std::min(jobs.size(), shared_->options.jobs_max - shared_->in_flight);
  while (free_.size() < count) {
    storage_.push_back(std::make_unique<FilterResult>());
    free_.push_back(storage_.back().get());
  }
  std::unique_lock lock(shared_->mutex);
  if (shared_->stopping) return 0;
  const bool edge = shared_->waiting.empty();
  for (const Job& job : jobs.first(count)) {
    const bool pushed = shared_->waiting.try_push({job, free_.back()});
    WEIR_ASSERT(pushed);
    free_.pop_back();
  }
  shared_->in_flight += count;
  const bool wake_unit = count > 0 && shared_->sleeping > 0;
  lock.unlock();
  if (wake_unit) shared_->work.notify_one();
  if (shared_->options.units == 0 && edge && count > 0) shared_->call_wake();
  return count;
}

void ProcessingUnits::drain(std::vector<FilterResult*>& out) {
  Shared& shared = *shared_;
  if (shared.options.units == 0) {
    Shared::Unit& unit = *shared.units.front();
    TimeNs now = awake_now_ns();
    for (std::size_t left = shared.waiting.size(); left > 0; --left)
      now = shared.run_job(unit, shared.waiting.pop(), now);
    unit.start_ns.store(kIdle, std::memory_order_relaxed);
    (void)shared.publish(unit);
  }
  const std::size_t before = out.size();
  const std::lock_guard lock(shared.mutex);
  out.insert(out.end(), shared.finished.begin(), shared.finished.end());
  shared.finished.clear();
  shared.in_flight -= out.size() - before;
}

void ProcessingUnits::recycle(std::span<FilterResult* const> results) {
  free_.insert(free_.end(), results.begin(), results.end());
}

std::size_t ProcessingUnits::in_flight() const { return shared_->in_flight; }

std::optional<OldestJob> ProcessingUnits::oldest() const {
  std::optional<OldestJob> oldest;
  for (const auto& unit : shared_->units) {
    const std::optional<OldestJob> job = Shared::job_of(*unit);
    if (job && (!oldest || job->start_ns < oldest->start_ns)) oldest = job;
  }
  return oldest;
}

void ProcessingUnits::running(std::vector<OldestJob>& out) const {
  for (const auto& unit : shared_->units) {
    if (const auto job = Shared::job_of(*unit)) out.push_back(*job);
  }
}

// The lock orders this before the jobs of the next submit().
void ProcessingUnits::measure_cpu() {
  WEIR_ASSERT(in_flight() == 0);
  const std::lock_guard lock(shared_->mutex);
  shared_->options.measure_cpu = true;
}

DurationNs ProcessingUnits::cpu_ns() const {
  DurationNs sum = 0;
  for (std::thread& thread : shared_->threads) {
    clockid_t clock{};
    timespec time{};
    if (::pthread_getcpuclockid(thread.native_handle(), &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      continue;
    sum += time.tv_sec * kSecond + time.tv_nsec;
  }
  return sum;
}

histograms::Layout ProcessingUnits::histograms() const { return shared_->metrics.layout(); }

FilterMetricsSnapshot ProcessingUnits::metrics() const { return shared_->metrics.snapshot(); }

}  // namespace weir::filter_host
