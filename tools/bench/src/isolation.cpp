// Farms with a filter that misbehaves in its workers: the cost of each fault.
#include "lab_farm.hpp"
#include "output.hpp"
#include "units.hpp"
#include <weir/base/memory_region.hpp>
#include <weir/bench/isolation.hpp>
#include <weir/clock/clock.hpp>
#include <weir/emulation/dummy_content.hpp>
#include <weir/file_reader.hpp>
#include <weir/filter_host/spawned_workers.hpp>
#include <weir/filter_host/worker_units.hpp>
#include <weir/run_record/summary.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

namespace weir::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kDcms = 2;
constexpr std::uint32_t kStartTimeoutMs = 20'000;
constexpr double kRunStart = 0.25;  // seconds by which two runs of the same farm may differ

// One fault, and its cost by the rules of filter workers (docs/writing-a-filter.md).
struct IsolationFault {
  std::string_view name;  // of the plugin's parameter `what`
  bool poisons;           // each bad slice is poison; else none is
  bool waits;             // a kill takes the time limit
  bool fills;             // a kill takes the time in which a worker fills its memory
  bool timed = true;      // the rate is judged
};

// `leak` loses 1 MiB per slice, so that a worker reaches its limit every 64 slices or so: all slices do it.
// Its rate is that of the kernel's memory.
constexpr std::array kFaults = {
    IsolationFault{"crash", true, false, false},       IsolationFault{"abort", true, false, false},
    IsolationFault{"exit", true, false, false},        IsolationFault{"hang", true, true, false},
    IsolationFault{"memory", true, false, true},       IsolationFault{"wild", true, false, false},
    IsolationFault{"leak", false, false, true, false}, IsolationFault{"fork", false, false, false},
};
constexpr IsolationFault kNone{"none", false, false, false};

// Computes on every core while it exists.
class Spinners {
 public:
  explicit Spinners(bool on) {
    for (unsigned i = 0; on && i < std::thread::hardware_concurrency(); ++i)
      threads_.emplace_back([this] {
        volatile std::uint64_t count = 0;
        while (!ends_.load(std::memory_order_relaxed)) count = count + 1;
      });
  }
  ~Spinners() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Spinners(const Spinners&) = delete;
  Spinners& operator=(const Spinners&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

// The slices of a run, counted.
struct Stored {
  std::uint64_t slices = 0;
  std::uint64_t poison = 0;
  std::uint64_t wrong = 0;    // poison that should not be, or the other way round
  std::uint64_t changed = 0;  // fragments whose bytes are not those of their source
};

struct Trial {
  std::string language;
  std::string plugin;
  IsolationFault fault;
};

// Of a worker. An interpreter with NumPy takes 100 MiB.
std::size_t memory_bytes(const std::string& language) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  return (language == "python" ? 192 : 96) * kMebi;
}

std::string farm_of(const IsolationOptions& options, const Trial& trial) {
  // A hang is found by its time limit; other faults are not to be found by it on a busy machine.
  const std::uint32_t timeout_ms = trial.fault.waits ? options.timeout_ms : 20'000;
  return fmt::format(
      "farm: isolation\nrun: {{slices: {}}}\ntrigger: {{mode: max}}\n"
      "source: {{kind: dummy, distribution: exponential, size_bytes: 250}}\n"
      "readout: {{count: 2, sources_per_readout: 4}}\ndcm: {{count: {}, credits: 256}}\nwriter: {{count: "
      "1}}\n"
      "supervisor: {{lease_ms: 120000}}\n"
      "filter:\n  plugin: {}\n  isolation: worker\n  timeout_ms: {}\n"
      "  workers: {{count: 1, spare: 1, memory_bytes: {}, start_timeout_ms: {}}}\n"
      "  parameters: {{what: {}, every: {}}}\n",
      options.slices, kDcms, trial.plugin, timeout_ms, memory_bytes(trial.language), kStartTimeoutMs,
      trial.fault.name, options.every);
}

bool is_bad(const IsolationOptions& options, const IsolationFault& fault, std::uint64_t id) {
  return fault.poisons && id > 0 && id % options.every == 0;
}

Stored read_back(const IsolationOptions& options, const IsolationFault& fault, const std::string& folder) {
  Stored stored;
  emulation::DummyVerifier verifier;
  const files::Run run(folder);
  for (const files::Slice& slice : run) {
    ++stored.slices;
    const bool poison = slice.decision() == files::Decision::poison;
    stored.poison += poison ? 1 : 0;
    stored.wrong += poison != is_bad(options, fault, slice.id()) ? 1 : 0;
    for (std::size_t i = 0; i < slice.fragment_count(); ++i) {
      const files::Fragment fragment = slice.fragment(i);
      const auto good = verifier.verify(RunNumber(slice.run()), SourceId(fragment.source),
                                        SliceId(slice.id()), fragment.bytes);
      stored.changed += good ? 0 : 1;
    }
  }
  return stored;
}

// Throws std::runtime_error if the run did not take place.
run_record::Summary run_trial(const IsolationOptions& options, const Trial& trial,
                              const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::create_directories(folder);
  const auto run = prepare_run(folder, farm_of(options, trial));
  if (!run) throw std::runtime_error(run.error());
  run_record::Summary summary;
  std::string text;
  (void)run_quietly(*run, summary, text);
  if (summary.triggered == 0) throw std::runtime_error(text);
  return summary;
}

std::uint64_t count_of(const run_record::Counts& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

struct Outcome {
  run_record::Summary summary;
  Stored stored;
  double restart_s = 0;  // of a worker
  double fill_s = 0;     // of its memory
};

// The time that a fault may cost: its kills, one after another in each of the DCMs' workers.
double allowed_s(const IsolationOptions& options, const IsolationFault& fault, const Outcome& outcome,
                 double clean_s) {
  const auto kills = static_cast<double>(count_of(outcome.summary.filter_workers, "restarts"));
  const double wait_s = fault.waits ? options.timeout_ms / 1e3 : 0;
  const double fill_s = fault.fills ? outcome.fill_s : 0;
  return clean_s / (1 - options.tolerance) + kRunStart +
         kills * (wait_s + fill_s + outcome.restart_s) / kDcms;
}

std::vector<std::string> failed_checks(const IsolationOptions& options, const IsolationFault& fault,
                                       const Outcome& outcome, double allowed) {
  const run_record::Summary& summary = outcome.summary;
  const std::uint64_t bad = fault.poisons && options.slices > 0 ? (options.slices - 1) / options.every : 0;
  const bool all_lived = std::all_of(summary.processes.begin(), summary.processes.end(),
                                     [](const auto& process) { return process.end.well(); });
  std::vector<std::string> failed;
  const auto check = [&](bool good, const char* what) {
    if (!good) failed.emplace_back(what);
  };
  check(summary.ledger_balanced, "balanced");
  check(summary.stored == options.slices && outcome.stored.slices == options.slices, "stored");
  check(outcome.stored.poison == bad && outcome.stored.wrong == 0, "poison");
  check(outcome.stored.changed == 0, "bytes");
  check(all_lived, "processes");
  check(options.tolerance == 0 || !fault.timed || summary.duration_s <= allowed, "rate");
  return failed;
}

double seconds_since(TimeNs begin) { return static_cast<double>(monotonic_now_ns() - begin) / kSecond; }

void require(const Expected<void, filter_host::FilterError>& done) {
  if (!done) throw std::runtime_error(done.error().text);
}

// Submits a slice over which the filter fills its memory, and returns the time until the slice is poison: two
// fills, and a restart between.
double poison_s(filter_host::WorkerUnits& units, filter_host::WorkerHost& host) {
  weir_filter_state state{};
  weir_filter_slice slice = filter_host::empty_slice();
  slice.run = 1;
  slice.slice = 1;
  slice.state = &state;
  const filter_job::Job job[] = {{&slice, 0}};
  const TimeNs begin = monotonic_now_ns();
  if (units.submit(job) != 1) throw std::runtime_error("the worker takes no slice");
  std::vector<filter_job::FilterResult*> results;
  while (results.empty()) {
    units.flush();
    host.wait(kMillisecond);
    units.drain(results);
    if (!units.failure().empty()) throw std::runtime_error(units.failure());
  }
  return seconds_since(begin);
}

// Times of a worker without a farm.
struct LoneTimes {
  double restart_s = 0;  // from its start until its filter exists
  double fill_s = 0;     // from an empty memory to the end at its limit; 0: not measured
};

LoneTimes measure_worker(const IsolationOptions& options, const IsolationLanguage& language, bool fills) {
  MemoryRegion memory("weir-bench", 4096);
  memory.seal();
  filter_host::SpawnedWorkers host(language.worker_command, memory.descriptor());
  filter_host::FilterConfig config;
  config.parameters = {{"what", "memory"}, {"every", "1"}};
  filter_host::WorkerUnitsOptions made;
  made.pool.spares = 0;
  made.pool.timeout_ns = made.pool.start_timeout_ns = kStartTimeoutMs * kMillisecond;
  made.rows_max = 1;
  made.memory_bytes = memory_bytes(language.name);
  made.slice_memory = memory.bytes();
  const TimeNs begin = monotonic_now_ns();
  const auto units =
      filter_host::WorkerUnits::launch(language.plugin, options.search_path, config, made, host);
  require(units->wait_for_start());
  LoneTimes times{seconds_since(begin), 0};
  if (!fills) return times;
  filter_host::RunInfo run;
  run.run = RunNumber(1);
  require(units->begin_run(run));
  require(units->wait_for_start());
  times.fill_s = std::max(0.0, (poison_s(*units, host) - times.restart_s) / 2);
  return times;
}

// Returns the medians of as many workers at a time as the farm has.
LoneTimes measure_workers(const IsolationOptions& options, const IsolationLanguage& language, bool fills) {
  constexpr std::size_t kTimes = 3;
  std::vector<double> restarts;
  std::vector<double> fill_times;
  for (std::size_t i = 0; i < kTimes; ++i) {
    std::vector<std::future<LoneTimes>> workers;
    for (std::uint32_t dcm = 0; dcm < kDcms; ++dcm) {
      workers.push_back(
          std::async(std::launch::async, [&] { return measure_worker(options, language, fills); }));
    }
    for (auto& worker : workers) {
      const LoneTimes times = worker.get();
      restarts.push_back(times.restart_s);
      fill_times.push_back(times.fill_s);
    }
  }
  return {median(restarts), median(fill_times)};
}

Line line_of(const IsolationOptions& options, const Trial& trial, const Outcome& outcome, double allowed,
             const std::vector<std::string>& failed) {
  const run_record::Summary& summary = outcome.summary;
  return {
      {"bench", "isolation"},
      {"language", trial.language},
      {"fault", trial.fault.name},
      {"slices", options.slices},
      {"every", options.every},
      {"stored", outcome.stored.slices},
      {"poison", outcome.stored.poison},
      {"wrong", outcome.stored.wrong},
      {"changed", outcome.stored.changed},
      {"balanced", summary.ledger_balanced},
      {"restarts", count_of(summary.filter_workers, "restarts")},
      {"retried", count_of(summary.filter_workers, "slices_retried")},
      {"restart_s", four_digits(outcome.restart_s)},
      {"fill_s", four_digits(outcome.fill_s)},
      {"duration_s", hundredths(summary.duration_s)},
      {"allowed_s", hundredths(allowed)},
      {"slices_per_s", std::round(summary.slices_per_s)},
      {"spinners", options.spin},
      {"failed", boost::json::array(failed.begin(), failed.end())},
      {"machine", machine()},
      {"_language", trial.language == "c++" ? "C++" : "Python"},
      {"_allowed", trial.fault.timed ? fmt::format("{:.1f}", allowed) : ""},
      {"_checks", failed.empty() ? std::string("held") : fmt::format("failed: {}", fmt::join(failed, ", "))}};
}

// `alone`: times of each language's worker without a farm.
std::string isolation_page(const Lines& lines, const IsolationOptions& options, const std::string& alone) {
  return page_head(
             options.output.name, options.output,
             fmt::format(
                 "{} slices through two DCMs with a worker and a spare each. The filter misbehaves on "
                 "one slice in {}, with `leak`\non each. {}{}. `none` is the run without faults; "
                 "{:.0f} % of its rate may be lost, and the time of each restart\nof a worker.{}",
                 options.slices, options.every, machine(),
                 options.spin ? ", with a spinner on each core" : "", kPercent * options.tolerance, alone)) +
         table_of(lines, {text_column("language", "_language"), text_column("fault", "fault"),
                          number_column("poison", "poison", 0), number_column("wrong decisions", "wrong", 0),
                          number_column("changed fragments", "changed", 0),
                          number_column("restarts", "restarts", 0), number_column("seconds", "duration_s", 1),
                          text_column("allowed", "_allowed"), text_column("checks", "_checks")});
}

std::vector<IsolationFault> faults_of(const IsolationOptions& options) {
  std::vector<IsolationFault> faults{kNone};
  for (const IsolationFault& fault : kFaults) {
    const auto& wanted = options.faults;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), fault.name) != wanted.end())
      faults.push_back(fault);
  }
  return faults;
}

// A language's runs. The first one is without faults.
struct LanguageRuns {
  const IsolationOptions& options;
  const IsolationLanguage& language;
  std::string& alone;
  LoneTimes lone = {};
  double clean_s = 0;

  Lines measure(const IsolationFault& fault) {
    if (fault.name == kNone.name) measure_alone();
    const Trial trial{language.name, language.plugin, fault};
    const Outcome outcome{run_trial(options, trial, options.folder),
                          read_back(options, fault, options.folder + "/out"), lone.restart_s, lone.fill_s};
    if (fault.name == kNone.name) clean_s = outcome.summary.duration_s;
    const double allowed = allowed_s(options, fault, outcome, clean_s);
    return {line_of(options, trial, outcome, allowed, failed_checks(options, fault, outcome, allowed))};
  }

 private:
  void measure_alone() {
    const bool fills = std::ranges::any_of(faults_of(options), &IsolationFault::fills);
    if (options.tolerance > 0) lone = measure_workers(options, language, fills);  // only to judge the rate
    alone +=
        fmt::format(" A worker of {} starts in {:.0f} ms{}.", language.name == "c++" ? "C++" : "Python",
                    kMsPerS * lone.restart_s,
                    fills ? fmt::format(" and fills its memory in {:.0f} ms", kMsPerS * lone.fill_s) : "");
  }
};

}  // namespace

int run_isolation(const IsolationOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "isolation";
  figure.needs_all = true;
  figure.failure_status = 2;
  std::string alone;
  for (const IsolationLanguage& language : options.languages) {
    const auto runs = std::make_shared<LanguageRuns>(LanguageRuns{options, language, alone});
    for (const IsolationFault& fault : faults_of(options))
      figure.groups.push_back(
          {{language.name + " " + std::string(fault.name), [runs, fault] { return runs->measure(fault); }}});
  }
  figure.is_good = [](const Line& line) { return text_of(line, "_checks") == "held"; };
  figure.page = [&](const Lines& lines) { return isolation_page(lines, options, alone); };
  const Spinners spinners(options.spin);
  const int status = run_figure(figure, options.output, out, err);
  std::error_code ignored;
  fs::remove_all(options.folder, ignored);
  return status;
}

std::vector<std::string> isolation_faults() {
  std::vector<std::string> names;
  for (const IsolationFault& fault : kFaults) names.emplace_back(fault.name);
  return names;
}

}  // namespace weir::bench
