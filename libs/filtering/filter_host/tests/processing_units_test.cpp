#include "test_slice.hpp"
#include <weir/filter_host/processing_units.hpp>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

// The loop of a collector, as far as units see it: sleeps until woken, then drains.
class Loop {
 public:
  Loop(Parameters parameters, ProcessingUnitsOptions options) {
    options.wake = [this] {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      ++wakes_;
      condition_.notify_one();
    };
    auto made = ProcessingUnits::create(load("scripted", WEIR_TEST_PLUGIN_DIR),
                                        config_of(std::move(parameters)), options);
    if (!made) FAIL(made.error().text);
    units = std::move(*made);
  }
  // Until nothing is in flight; hands each result to `see` and gives it back.
  template <class See>
  void finish(See see) {
    while (units->in_flight() > 0) wait_and_drain(see);
  }
  template <class See>
  void wait_and_drain(See see) {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return woken_; });
    woken_ = false;
    lock.unlock();
    std::vector<FilterResult*> results;
    units->drain(results);
    for (const FilterResult* result : results) see(*result);
    units->recycle(results);
  }
  std::size_t wakes() {
    const std::lock_guard lock(mutex_);
    return wakes_;
  }

  std::unique_ptr<ProcessingUnits> units;

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
  std::size_t wakes_ = 0;
};

ProcessingUnitsOptions with_units(std::size_t units, std::size_t jobs_max = 256) {
  ProcessingUnitsOptions options;
  options.units = units;
  options.jobs_max = jobs_max;
  return options;
}

}  // namespace

TEST_CASE("every job returns once, with its token, for any number of units") {
  for (const std::size_t count : {1U, 2U, 4U}) {
    Loop loop({}, with_units(count));
    constexpr std::uint64_t kJobs = 20'000;
    TestSlice slice;
    std::vector<bool> seen(kJobs);
    std::uint64_t accepted = 0;
    const auto see = [&](const FilterResult& result) {
      REQUIRE_FALSE(seen[result.token]);
      seen[result.token] = true;
      accepted += result.verdict == StepVerdict::accept ? 1 : 0;
    };
    for (std::uint64_t next = 0; next < kJobs;) {
      std::vector<Job> jobs;
      for (std::uint64_t i = next; i < std::min(kJobs, next + 37); ++i) jobs.push_back({&slice.view(), i});
      const std::size_t taken = loop.units->submit(jobs);
      next += taken;
      if (taken < jobs.size()) loop.wait_and_drain(see);
    }
    loop.finish(see);
    CHECK(accepted == kJobs);
    CHECK(loop.units->metrics().counters["processed"] == kJobs);
    CHECK(loop.units->metrics().histograms["ids"].count == kJobs);
  }
}

TEST_CASE("a filter that works in threads of its own logs, counts and decides as in the host's") {
  constexpr std::uint64_t kJobs = 400;
  Loop loop(Parameters{{"do", "delegate"}}, with_units(4));
  TestSlice slice;
  std::uint64_t events = 0;
  const auto see = [&](const FilterResult& result) {
    CHECK(result.verdict == StepVerdict::accept);
    events += result.events.size();
  };
  for (std::uint64_t next = 0; next < kJobs;) {
    std::vector<Job> jobs;
    for (std::uint64_t i = next; i < std::min(kJobs, next + 16); ++i) jobs.push_back({&slice.view(), i});
    const std::size_t taken = loop.units->submit(jobs);
    next += taken;
    (void)loop.units->metrics();  // read while the filter's threads count
    if (taken < jobs.size()) loop.wait_and_drain(see);
  }
  loop.finish(see);
  CHECK(events == kJobs);
  CHECK(loop.units->metrics().counters["delegated"] == kJobs);
  CHECK(loop.units->metrics().histograms["ids"].count == 2 * kJobs);
}

TEST_CASE("two jobs run at the same time on two units, though one unit could take both") {
  Loop loop(Parameters{{"do", "meet"}}, with_units(2));
  TestSlice slice;
  const std::vector<Job> jobs(2, Job{&slice.view(), 5});
  for (int round = 0; round < 20; ++round) {
    REQUIRE(loop.units->submit(jobs) == 2);
    loop.finish([](const FilterResult& result) { CHECK(result.verdict == StepVerdict::accept); });
  }
}

TEST_CASE("a unit that is at work shows since when and with which job") {
  Loop loop(Parameters{{"do", "sleep"}, {"number", "50"}}, with_units(1));
  TestSlice slice;
  const Job job{&slice.view(), 42};
  REQUIRE(loop.units->submit({&job, 1}) == 1);
  std::optional<OldestJob> oldest;
  while (!(oldest = loop.units->oldest())) std::this_thread::yield();
  CHECK(oldest->token == 42);
  CHECK(oldest->start_ns > 0);
  loop.finish([](const FilterResult&) {});
  while (loop.units->oldest()) std::this_thread::yield();
  CHECK_FALSE(loop.units->oldest_start_ns());
}

TEST_CASE("the wake callback fires on the edge from no result to some") {
  Loop loop({}, with_units(1));
  TestSlice slice;
  const std::vector<Job> jobs(200, Job{&slice.view(), 0});
  REQUIRE(loop.units->submit(jobs) == 200);
  // The results are not drained: one wake, for any number of batches.
  while (loop.units->metrics().counters["processed"] < 200 || loop.units->oldest()) std::this_thread::yield();
  loop.finish([](const FilterResult&) {});
  CHECK(loop.wakes() <= 2);
}

TEST_CASE("CPU time is measured when asked for") {
  ProcessingUnitsOptions options = with_units(1);
  options.measure_cpu = true;
  Loop loop(Parameters{{"do", "sleep"}, {"number", "20"}}, options);
  TestSlice slice;
  const Job job{&slice.view(), 1};
  REQUIRE(loop.units->submit({&job, 1}) == 1);
  loop.finish([](const FilterResult& result) {
    CHECK(result.cpu_ns > 0);
    CHECK(result.cpu_ns < result.wall_ns);
  });
}

TEST_CASE("a filter that throws costs only its slices") {
  Loop loop(Parameters{{"do", "throw"}}, with_units(2));
  TestSlice slice;
  const std::vector<Job> jobs(100, Job{&slice.view(), 0});
  REQUIRE(loop.units->submit(jobs) == 100);
  std::size_t errors = 0;
  loop.finish(
      [&errors](const FilterResult& result) { errors += result.verdict == StepVerdict::error ? 1 : 0; });
  CHECK(errors == 100);
  CHECK(loop.units->metrics().counters["filter_error"] == 100);
}

TEST_CASE("runs begin and end on all units") {
  Loop loop({}, with_units(3));
  for (std::uint32_t run = 1; run <= 3; ++run) {
    REQUIRE(loop.units->begin_run({.run = RunNumber(run), .start_time = 0, .sources = {1}}));
    TestSlice slice;
    const std::vector<Job> jobs(10, Job{&slice.view(), 0});
    REQUIRE(loop.units->submit(jobs) == 10);
    loop.finish([](const FilterResult& result) { CHECK(result.verdict == StepVerdict::accept); });
    loop.units->end_run();
  }
  Loop refusing(Parameters{{"do", "throw_in_begin_run"}}, with_units(2));
  CHECK_FALSE(refusing.units->begin_run({}));
}

TEST_CASE("waiting jobs are dropped when the units end, and running ones are waited for") {
  TestSlice slice;
  Loop loop(Parameters{{"do", "sleep"}, {"number", "30"}}, with_units(1));
  const std::vector<Job> jobs(50, Job{&slice.view(), 0});
  REQUIRE(loop.units->submit(jobs) == 50);
  while (!loop.units->oldest()) std::this_thread::yield();
  CHECK(loop.units->stop(10 * kSecond));
  CHECK(loop.units->metrics().counters["processed"] <= 2);
}

TEST_CASE("a unit that hangs does not hold up the stop") {
  // The slice outlives the thread that is left behind, as a process that ends right away would see to.
  static TestSlice slice;
  Loop loop(Parameters{{"do", "sleep"}, {"number", "100"}}, with_units(1));
  const Job job{&slice.view(), 0};
  REQUIRE(loop.units->submit({&job, 1}) == 1);
  while (!loop.units->oldest()) std::this_thread::yield();
  CHECK_FALSE(loop.units->stop(kMillisecond));
}
