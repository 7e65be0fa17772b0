#include "search.hpp"

#include "cpu_limit.hpp"
#include "networks.hpp"
#include "shrink.hpp"
#include "table.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::packet_model {
namespace {

constexpr unsigned kSeedSecondsMax = 120;  // CPU seconds; more means an endless loop
constexpr std::uint64_t kSeedsMax = 10'000'000;
constexpr double kAsBad = 0.7;  // shrinking without limits: so much of the harm remains

constexpr double kMuchLess = 0.95;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

struct Found {
  enum class State : std::uint32_t { not_run, running, done };
  std::atomic<State> state{State::not_run};
  Judgement judgement;
};

// Memory through which the processes that run seeds report to the parent.
struct Shared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> packets{0};
};

void* map_shared(std::size_t bytes) {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap");
  return at;
}

PullNetwork network_of(std::uint64_t seed, const Options& options) {
  PullNetwork network = make_network(seed);
  for (const std::string& feature : options.without) (void)take_away(network, feature);
  return network;
}

void work(const Options& options, Shared& shared, Found* found, Clock::time_point begun) {
  for (;;) {
    if (options.seconds_max > 0 && seconds_since(begun) > options.seconds_max) return;
    const std::uint64_t seed = shared.next++;
    if (seed > options.last) return;
    test::limit_cpu(kSeedSecondsMax * options.runs);
    Found& place = found[seed - options.first];
    place.state = Found::State::running;
    place.judgement = judge(run_all(network_of(seed, options), options.shapers, options.run, options.runs));
    shared.packets += place.judgement.packets;
    place.state = Found::State::done;
    if (options.quiet) continue;
    std::printf("seed %llu goodput %.3f p99 %.3f drops %llu\n", static_cast<unsigned long long>(seed),
                place.judgement.goodput, place.judgement.p99,
                static_cast<unsigned long long>(place.judgement.drops));
    std::fflush(stdout);
  }
}

pid_t start_worker(const Options& options, Shared& shared, Found* found, Clock::time_point begun) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child > 0) return child;
  int status = 0;
  try {
    work(options, shared, found, begun);
  } catch (const std::exception& error) {
    std::printf("weir-shaper-search: %s\n", error.what());
    status = 2;
  }
  std::fflush(stdout);
  ::_exit(status);
}

// False: a seed ended its process.
bool run_workers(const Options& options, Shared& shared, Found* found, Clock::time_point begun) {
  std::map<pid_t, int> workers;
  for (std::uint32_t job = 0; job < options.jobs; ++job)
    workers.emplace(start_worker(options, shared, found, begun), 0);
  bool sound = true;
  while (!workers.empty()) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    if (workers.erase(child) == 0) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    sound = false;
    std::printf("a seed FAILED: %s\n",
                WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "its process ended with an error");
  }
  return sound;
}

struct Ranked {
  std::uint64_t seed = 0;
  Judgement judgement;
};

void print_distribution(const char* what, std::vector<double> values) {
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf("%-8s min %.3f  1%% %.3f  5%% %.3f  median %.3f  95%% %.3f  99%% %.3f  max %.3f\n", what, at(0),
              at(0.01), at(0.05), at(0.5), at(0.95), at(0.99), at(1));
}

void print_worst(const Options& options, std::vector<Ranked>& all, bool by_goodput) {
  const auto worse = [by_goodput](const Ranked& a, const Ranked& b) {
    if (by_goodput) return a.judgement.goodput < b.judgement.goodput;
    return a.judgement.p99 > b.judgement.p99;
  };
  std::stable_sort(all.begin(), all.end(), worse);
  std::printf("\nworst by %s:\n", by_goodput ? "goodput" : "p99");
  for (std::size_t i = 0; i < all.size() && i < options.worst; ++i) {
    std::printf("goodput %.3f p99 %.2f: %s", all[i].judgement.goodput, all[i].judgement.p99,
                describe(network_of(all[i].seed, options)).c_str());
  }
}

Limits limits_of(const Options& options, const Judgement& judgement) {
  if (options.limits_given) return options.limits;
  if (judgement.goodput < kMuchLess)  // then slices queue, and p99 carries no information
    return {1 - kAsBad * (1 - judgement.goodput), 1e300};
  return {0, 1 + kAsBad * (judgement.p99 - 1)};
}

int run_one(const Options& options, const PullNetwork& network) {
  std::printf("%s", describe(network).c_str());
  if (options.describe) return 0;
  print_header();
  print_runs(network, options);
  if (!options.shrink) return 0;
  const Judgement judgement = judge(run_all(network, options.shapers, {options.run.host_times, false}));
  const Shrunk shrunk =
      shrink(network, options.shapers, {options.run.host_times, false}, limits_of(options, judgement));
  std::printf("\ngoodput %.3f p99 %.2f; goodput %.3f p99 %.2f with the reduced network:\n%s",
              judgement.goodput, judgement.p99, shrunk.judgement.goodput, shrunk.judgement.p99,
              describe(shrunk.network).c_str());
  print_runs(shrunk.network, options);
  std::string without;
  for (const std::string& feature : options.without) without += (without.empty() ? "" : ",") + feature;
  for (const std::string& feature : shrunk.without) without += (without.empty() ? "" : ",") + feature;
  std::printf("  weir-shaper-search --seed %llu --without %s\n",
              static_cast<unsigned long long>(options.first), without.c_str());
  return 0;
}

}  // namespace

int run_search(const Options& options) {
  if (options.first == options.last) return run_one(options, network_of(options.first, options));
  const std::uint64_t count = options.last - options.first + 1;
  if (count > kSeedsMax) throw std::runtime_error("at most 10000000 seeds at once");
  auto& shared = *new (map_shared(sizeof(Shared))) Shared;
  Found* found = new (map_shared(count * sizeof(Found))) Found[count];
  shared.next = options.first;
  const Clock::time_point begun = Clock::now();
  const bool sound = run_workers(options, shared, found, begun);
  std::vector<Ranked> all;
  std::vector<double> goodputs;
  std::vector<double> p99s;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (found[i].state == Found::State::running)
      std::printf("seed %llu FAILED\n", static_cast<unsigned long long>(options.first + i));
    if (found[i].state != Found::State::done) continue;
    all.push_back({options.first + i, found[i].judgement});
    goodputs.push_back(found[i].judgement.goodput);
    p99s.push_back(found[i].judgement.p99);
    if (options.limits.fails(found[i].judgement)) ++failed;
  }
  print_worst(options, all, false);
  print_worst(options, all, true);
  const double seconds = seconds_since(begun);
  std::printf("\n%zu seeds from %llu, %s against the others; %.1f s, %.2f million packets/s\n", all.size(),
              static_cast<unsigned long long>(options.first), options.shapers.front().text().c_str(), seconds,
              static_cast<double>(shared.packets) / 1e6 / std::max(seconds, 1e-3));
  print_distribution("goodput", goodputs);
  print_distribution("p99", p99s);
  if (options.limits_given)
    std::printf("%llu seeds beyond the limits\n", static_cast<unsigned long long>(failed));
  return sound && failed == 0 ? 0 : 1;
}

}  // namespace weir::packet_model
