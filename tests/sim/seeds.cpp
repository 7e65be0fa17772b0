#include "seeds.hpp"

#include "cpu_limit.hpp"
#include "shrink.hpp"
#include "trace_log.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::sim {
namespace {

constexpr unsigned kSeedSecondsMax = 120;  // CPU seconds; more means an endless loop
constexpr std::uint32_t kJobsMax = 64;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

// Memory through which the processes that run seeds report to the parent.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> faults{0};
  std::atomic<std::uint64_t> deaths{0};
  std::atomic<std::uint64_t> slices{0};
  std::atomic<std::uint64_t> fragments{0};  // of these
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> simulated_ms{0};
  std::atomic<std::uint64_t> slips{0};
  std::atomic<std::uint64_t> slips_shown{0};
  std::atomic<std::uint64_t> slips_named{0};
  std::atomic<std::uint64_t> slips_timed{0};
  std::atomic<std::uint64_t> slip_ms_max{0};  // until it was named
  std::atomic<std::uint64_t> slip_slices_max{0};
  std::atomic<std::uint64_t> at[kJobsMax];  // the seed that each works on
  std::uint64_t earlier_done = 0;           // done by the runs that this one continues
  std::uint64_t earlier_failed = 0;
  std::atomic<bool> writing{false};  // where it has got to
};

constexpr std::uint64_t kWriteEvery = 100;  // seeds
constexpr std::uint64_t kNone = UINT64_MAX;

Shared& make_shared_memory() {
  void* at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap");
  auto& shared = *new (at) Shared;
  for (auto& seed : shared.at) seed = kNone;
  return shared;
}

// All seeds below have been run.
std::uint64_t first_not_done(const Shared& shared) {
  std::uint64_t first = shared.next;
  for (const auto& seed : shared.at) first = std::min(first, seed.load());
  return first;
}

// A line: the next seed, how many were done, how many of them failed.
void read_progress(const Options& options, Shared& shared) {
  std::ifstream in(options.progress);
  std::uint64_t next = 0;
  if (!in) return;
  if (!(in >> next >> shared.earlier_done >> shared.earlier_failed) || next < options.first)
    throw std::runtime_error(options.progress + ": not the progress of these seeds");
  shared.next = next;
}

void write_progress(const Options& options, Shared& shared) {
  if (options.progress.empty() || shared.writing.exchange(true)) return;
  const std::string written = options.progress + ".new";
  std::ofstream out(written);
  out << first_not_done(shared) << ' ' << shared.earlier_done + shared.done << ' '
      << shared.earlier_failed + shared.failed << '\n';
  out.close();
  if (!out || std::rename(written.c_str(), options.progress.c_str()) != 0)
    throw std::runtime_error("cannot write " + options.progress);
  shared.writing = false;
}

Scenario scenario_of(std::uint64_t seed, const Options& options) {
  Scenario scenario = make_scenario(seed, options.limits);
  if (options.no_faults) scenario.faults.clear();
  scenario.journal_checked = options.check_journal;
  if (options.only.empty()) return scenario;
  std::vector<Fault> chosen;
  for (const std::size_t number : options.only) {
    if (number < scenario.faults.size()) chosen.push_back(scenario.faults[number]);
  }
  scenario.faults = chosen;
  return scenario;
}

void print_failure(const Scenario& scenario, const Outcome& outcome) {
  std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(scenario.seed),
              outcome.problem.c_str());
  for (std::size_t i = 0; i < scenario.faults.size(); ++i)
    std::printf("  fault %zu: %s\n", i, describe(scenario.faults[i]).c_str());
  std::fflush(stdout);
}

void raise(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  std::uint64_t before = most;
  while (before < value && !most.compare_exchange_weak(before, value)) {
  }
}

void run_one(std::uint64_t seed, const Options& options, Shared& shared) {
  const Scenario scenario = scenario_of(seed, options);
  if (options.trace) std::printf("%s", scenario.farm.c_str());
  const Outcome outcome = run_scenario(scenario, options.trace);
  ++shared.done;
  shared.faults += scenario.faults.size();
  shared.deaths += outcome.deaths;
  shared.slices += outcome.triggered;
  shared.fragments += outcome.triggered * scenario.readouts * scenario.sources;
  shared.steps += outcome.steps;
  shared.slips += outcome.slips ? 1 : 0;
  shared.slips_shown += outcome.slip_shows ? 1 : 0;
  shared.slips_named += outcome.slip_named ? 1 : 0;
  if (outcome.slip_delay) {
    ++shared.slips_timed;
    raise(shared.slip_ms_max, static_cast<std::uint64_t>(outcome.slip_delay->time_ns / kMillisecond));
    raise(shared.slip_slices_max, outcome.slip_delay->slices);
  }
  shared.simulated_ms += static_cast<std::uint64_t>(outcome.ended_ns / kMillisecond);
  if (!outcome.problem.empty()) {
    ++shared.failed;
    print_failure(scenario, outcome);
    test::limit_cpu(0);  // shrinking limits each of its farms itself
    if (options.shrink) print_shrunk(scenario, options.rates);
  } else if (!options.quiet) {
    std::printf(
        "seed %llu trace=%016llx events=%llu simulated_s=%.3f triggered=%llu stored=%llu missing=%llu "
        "faults=%zu deaths=%llu\n",
        static_cast<unsigned long long>(seed), static_cast<unsigned long long>(outcome.trace_hash),
        static_cast<unsigned long long>(outcome.trace_events),
        static_cast<double>(outcome.ended_ns) / kSecond, static_cast<unsigned long long>(outcome.triggered),
        static_cast<unsigned long long>(outcome.stored), static_cast<unsigned long long>(outcome.missing),
        scenario.faults.size(), static_cast<unsigned long long>(outcome.deaths));
    std::fflush(stdout);
  }
}

void work(const Options& options, Shared& shared, std::uint32_t job, Clock::time_point begun) {
  while (shared.failed < options.failures_max) {
    if (options.seconds_max > 0 && seconds_since(begun) > options.seconds_max) break;
    shared.at[job] = shared.next.load();  // it may be this one
    const std::uint64_t seed = shared.next++;
    if (seed > options.last) break;
    shared.at[job] = seed;
    test::limit_cpu(kSeedSecondsMax);
    run_one(seed, options, shared);
    shared.at[job] = kNone;
    if (shared.done % kWriteEvery == 0) write_progress(options, shared);
  }
  shared.at[job] = kNone;
}

pid_t start_worker(const Options& options, Shared& shared, std::uint32_t job, Clock::time_point begun) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child > 0) return child;
  try {
    work(options, shared, job, begun);
  } catch (const std::exception& error) {
    std::printf("weir-sim: %s\n", error.what());
    std::fflush(stdout);
    ::_exit(2);
  }
  std::fflush(stdout);
  ::_exit(0);
}

void print_sum(const Options& options, const Shared& shared, double seconds) {
  const auto done = shared.done.load();
  std::printf(
      "%llu seeds from %llu: %llu failed; %llu faults, %llu deaths, %llu slices of %llu fragments, %.0f "
      "simulated s, %llu steps; %.1f s, %.1f seeds/s\n",
      static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.first),
      static_cast<unsigned long long>(shared.failed.load()),
      static_cast<unsigned long long>(shared.faults.load()),
      static_cast<unsigned long long>(shared.deaths.load()),
      static_cast<unsigned long long>(shared.slices.load()),
      static_cast<unsigned long long>(shared.fragments.load()),
      static_cast<double>(shared.simulated_ms.load()) / 1000,
      static_cast<unsigned long long>(shared.steps.load()), seconds,
      static_cast<double>(done) / std::max(seconds, 1e-3));
  if (shared.slips > 0)
    std::printf(
        "%llu front-ends got out of step: %llu had to be named, %llu were; %llu without faults at readouts "
        "and "
        "supervisor within %llu ms, %llu slices\n",
        static_cast<unsigned long long>(shared.slips.load()),
        static_cast<unsigned long long>(shared.slips_shown.load()),
        static_cast<unsigned long long>(shared.slips_named.load()),
        static_cast<unsigned long long>(shared.slips_timed.load()),
        static_cast<unsigned long long>(shared.slip_ms_max.load()),
        static_cast<unsigned long long>(shared.slip_slices_max.load()));
  if (shared.earlier_done > 0)
    std::printf("including earlier runs: %llu seeds, %llu failed\n",
                static_cast<unsigned long long>(shared.earlier_done + done),
                static_cast<unsigned long long>(shared.earlier_failed + shared.failed.load()));
  const std::uint64_t next = first_not_done(shared);
  if (next <= options.last)
    std::printf("not run: --seeds %llu..%llu\n", static_cast<unsigned long long>(next),
                static_cast<unsigned long long>(options.last));
}

}  // namespace

Outcome run_scenario(const Scenario& scenario, bool trace) {
  Outcome outcome;
  try {
    SimFarm farm(scenario);
    const TraceLog log(farm, trace);
    return farm.run();
  } catch (const std::exception& error) {
    outcome.problem = error.what();
    return outcome;
  }
}

// Runs each job in a separate process: a failed assertion ends only its seed.
int run_seeds(const Options& options) {
  Shared& shared = make_shared_memory();
  shared.next = options.first;
  if (!options.progress.empty()) read_progress(options, shared);
  const Clock::time_point begun = Clock::now();
  if (options.first == options.last) {
    run_one(options.first, options, shared);
    return shared.failed > 0 ? 1 : 0;
  }
  std::map<pid_t, std::uint32_t> workers;
  for (std::uint32_t job = 0; job < options.jobs; ++job)
    workers.emplace(start_worker(options, shared, job, begun), job);
  while (!workers.empty()) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto found = workers.find(child);
    if (found == workers.end()) continue;
    const std::uint32_t job = found->second;
    workers.erase(found);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++shared.failed;
    ++shared.done;
    shared.writing = false;
    std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(shared.at[job].load()),
                WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "its process ended with an error");
    if (shared.failed < options.failures_max) workers.emplace(start_worker(options, shared, job, begun), job);
  }
  write_progress(options, shared);
  print_sum(options, shared, seconds_since(begun));
  return shared.failed > 0 ? 1 : 0;
}

}  // namespace weir::sim
