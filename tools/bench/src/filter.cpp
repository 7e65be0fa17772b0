// A filter in the process, the same one in a worker, and in Python.
#include "output.hpp"
#include "units.hpp"
#include <weir/base/memory_region.hpp>
#include <weir/bench/figure.hpp>
#include <weir/bench/filter.hpp>
#include <weir/clock/clock.hpp>
#include <weir/filter_host/plugin.hpp>
#include <weir/filter_host/processing_units.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/filter_host/worker_units.hpp>

#include <boost/json.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace weir::bench {
namespace {

using filter_host::FilterUnits;
using filter_job::FilterResult;

constexpr int kIdleMs = 5;  // as a DCM's loop waits
constexpr std::size_t kLatencySlices = 2000;
constexpr DurationNs kUnkind = 3600 * kSecond;  // no slice is too slow

// Waits on descriptors, as a DCM's loop does.
class Waiter final : public ports::Readiness {
 public:
  Waiter() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake_ < 0) throw std::runtime_error("eventfd");
  }
  ~Waiter() override { ::close(wake_); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  [[nodiscard]] std::unique_ptr<ports::Watch> watch(int descriptor,
                                                    std::function<void()> on_readable) override {
    watched_ = descriptor;
    handler_ = std::move(on_readable);
    struct Armed final : ports::Watch {
      void arm() override {}
    };
    return std::make_unique<Armed>();
  }
  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }
  void wait() {
    pollfd list[] = {{wake_, POLLIN, 0}, {watched_, POLLIN, 0}};
    if (::poll(list, watched_ < 0 ? 1 : 2, kIdleMs) <= 0) return;
    std::uint64_t count = 0;
    if (list[0].revents != 0) (void)!::read(wake_, &count, sizeof count);
    if (watched_ >= 0 && list[1].revents != 0) handler_();
  }

 private:
  int wake_;
  int watched_ = -1;
  std::function<void()> handler_;
};

DurationNs own_cpu_ns() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& time) { return time.tv_sec * kSecond + time.tv_usec * kMicrosecond; };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

// CPU time of this process and of the units' workers.
DurationNs cpu_used_ns(const FilterUnits& units) {
  DurationNs sum = own_cpu_ns();
  for (const std::int64_t pid : units.figures().pids) {
    clockid_t clock = 0;
    timespec time{};
    if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0 && ::clock_gettime(clock, &time) == 0)
      sum += time.tv_sec * kSecond + time.tv_nsec;
  }
  return sum;
}

// Slices in one region, as a DCM has them.
class Slices {
 public:
  explicit Slices(const FilterOptions& options)
      : region_("weir-bench", std::size_t{options.slice_bytes} * options.in_flight),
        table_(std::size_t{options.in_flight} * options.sources),
        states_(options.in_flight),
        views_(options.in_flight) {
    const std::uint32_t bytes = options.slice_bytes / options.sources;
    for (std::uint32_t i = 0; i < options.in_flight; ++i) {
      for (std::uint32_t source = 0; source < options.sources; ++source) {
        weir_filter_fragment& row = table_[std::size_t{i} * options.sources + source];
        row.source = source;
        row.data =
            region_.bytes().data() + std::size_t{i} * options.slice_bytes + std::size_t{source} * bytes;
        row.length = row.total = bytes;
      }
      views_[i] = filter_host::empty_slice();
      views_[i].run = 1;
      views_[i].slice = i;
      views_[i].fragment_count = options.sources;
      views_[i].fragments = &table_[std::size_t{i} * options.sources];
      views_[i].state = &states_[i];
    }
    region_.seal();
  }
  [[nodiscard]] filter_job::Job job(std::uint64_t token) const { return {&views_[token], token}; }
  [[nodiscard]] const MemoryRegion& region() const { return region_; }

 private:
  MemoryRegion region_;
  std::vector<weir_filter_fragment> table_;
  std::vector<weir_filter_state> states_;
  std::vector<weir_filter_slice> views_;
};

// Keeps `in_flight` slices in progress until `count` are done; returns the median time of one slice.
double pump(FilterUnits& units, Waiter& waiter, const Slices& slices, std::uint64_t count,
            std::uint32_t in_flight) {
  std::vector<filter_job::Job> jobs;
  std::vector<FilterResult*> results;
  std::vector<TimeNs> sent(in_flight);
  std::vector<double> times;
  for (std::uint32_t i = 0; i < in_flight; ++i) jobs.push_back(slices.job(i));
  std::uint64_t done = 0;
  while (done < count) {
    const TimeNs now = monotonic_now_ns();
    for (const auto& job : jobs) sent[job.token] = now;
    if (units.submit(jobs) != jobs.size()) throw std::runtime_error("the units take no more slices");
    jobs.clear();
    units.flush();
    results.clear();
    units.drain(results);
    if (results.empty()) {
      waiter.wait();
      units.drain(results);
    }
    if (!units.failure().empty()) throw std::runtime_error(units.failure());
    done += results.size();
    for (const FilterResult* result : results) {
      if (in_flight == 1) times.push_back(static_cast<double>(monotonic_now_ns() - sent[result->token]));
      jobs.push_back(slices.job(result->token));
    }
    units.recycle(results);
  }
  while (units.in_flight() > 0) {
    results.clear();
    units.flush();
    units.drain(results);
    if (results.empty()) waiter.wait();
    units.recycle(results);
  }
  return median(std::move(times));
}

filter_host::FilterConfig config_of(const FilterOptions& options) {
  filter_host::FilterConfig config;
  config.parameters = options.parameters;
  return config;
}

// Waits until the units have created their filter, or have begun the run.
void wait_for_start(FilterUnits& units, Waiter& waiter) {
  while (true) {
    const auto done = units.poll_start();
    if (!done) throw std::runtime_error(done.error().text);
    if (*done) return;
    waiter.wait();
  }
}

enum class Way : std::uint8_t { in_process, worker, python };
constexpr std::pair<Way, const char*> kWays[] = {
    {Way::in_process, "in-process"}, {Way::worker, "worker"}, {Way::python, "python"}};

std::unique_ptr<FilterUnits> make_threads(const FilterOptions& options, Waiter& waiter) {
  auto plugin = filter_host::FilterPlugin::load(options.plugin, options.search_path);
  if (!plugin) throw std::runtime_error(plugin.error().text);
  filter_host::ProcessingUnitsOptions made;
  made.wake = [&waiter] { waiter.wake(); };
  auto threads = filter_host::ProcessingUnits::create(*plugin, config_of(options), made);
  if (!threads) throw std::runtime_error(threads.error().text);
  return std::move(*threads);
}

std::unique_ptr<FilterUnits> make_worker(const FilterOptions& options, const std::string& plugin,
                                         const Slices& slices, filter_host::WorkerHost& host) {
  filter_host::WorkerUnitsOptions made;
  made.pool.workers = 1;
  made.pool.spares = 0;
  made.pool.lane_slots = 256;
  made.pool.timeout_ns = kUnkind;
  made.pool.start_timeout_ns = kUnkind;
  made.rows_max = options.sources;
  made.slice_memory = slices.region().bytes();
  return filter_host::WorkerUnits::launch(plugin, options.search_path, config_of(options), made, host);
}

Line measure(const FilterOptions& options, Way way, const char* name) {
  Slices slices(options);
  Waiter waiter;
  const std::unique_ptr<filter_host::SpawnedWorkers> host =
      way == Way::in_process ? nullptr
                             : std::make_unique<filter_host::SpawnedWorkers>(
                                   way == Way::worker ? options.worker_command : options.python_command,
                                   slices.region().descriptor(), &waiter);
  const std::unique_ptr<FilterUnits> units =
      way == Way::in_process
          ? make_threads(options, waiter)
          : make_worker(options, way == Way::worker ? options.plugin : options.python_plugin, slices, *host);
  wait_for_start(*units, waiter);
  filter_host::RunInfo run;
  run.run = RunNumber(1);
  for (std::uint32_t source = 0; source < options.sources; ++source) run.sources.push_back(source);
  if (auto begun = units->begin_run(run); !begun) throw std::runtime_error(begun.error().text);
  wait_for_start(*units, waiter);
  pump(*units, waiter, slices, options.slices / 10, options.in_flight);  // pages and caches
  const double latency_ns = pump(*units, waiter, slices, kLatencySlices, 1);
  const DurationNs cpu_before = cpu_used_ns(*units);
  const TimeNs start = monotonic_now_ns();
  pump(*units, waiter, slices, options.slices, options.in_flight);
  const auto elapsed = static_cast<double>(monotonic_now_ns() - start);
  const auto count = static_cast<double>(options.slices);
  const auto cpu_ns = static_cast<double>(cpu_used_ns(*units) - cpu_before);
  units->end_run();
  while (!units->poll_end()) waiter.wait();
  (void)units->stop(10 * kSecond);
  return {{"way", name},
          {"slice_bytes", options.slice_bytes},
          {"sources", options.sources},
          {"slices_per_s", std::round(count * static_cast<double>(kSecond) / elapsed)},
          {"cpu_ns_per_slice", std::round(cpu_ns / count)},
          {"latency_us", hundredths(latency_ns / kMicrosecond)}};
}

// Returns the medians of each way, and those of its differences from the first way in the same round.
Line medians_by_way(const Lines& lines, std::uint32_t rounds) {
  Line summary{{"rounds", rounds}};
  const std::size_t ways = lines.size() / rounds;
  for (std::size_t way = 0; way < ways; ++way) {
    Lines its;
    for (std::size_t i = way; i < lines.size(); i += ways) {
      Line& line = its.emplace_back(lines[i]);
      const Line& first = lines[i - way];
      const auto added = [&](const char* key) { return number_of(line, key) - number_of(first, key); };
      line = {{"slices_per_s", line.at("slices_per_s")},
              {"cpu_ns_per_slice", line.at("cpu_ns_per_slice")},
              {"cpu_ns_added", added("cpu_ns_per_slice")},
              {"latency_us", line.at("latency_us")},
              {"latency_us_added", hundredths(added("latency_us"))}};
    }
    summary[text_of(lines[way], "way")] = medians_of(its);
  }
  summary["machine"] = machine();
  return summary;
}

}  // namespace

int run_filter(const FilterOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "filter";
  figure.needs_all = figure.line_per_round = true;
  figure.rounds = options.rounds;
  auto& group = figure.groups.emplace_back();
  for (const auto& [way, name] : kWays) {
    if (way == Way::python && options.python_plugin.empty()) continue;
    group.push_back({name, [&options, way, name] { return Lines{measure(options, way, name)}; }});
  }
  figure.summary = [&](const Lines& lines) { return medians_by_way(lines, options.rounds); };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench
