#include "test_slice.hpp"
#include <weir/filter_host/processing_units.hpp>

#include <vector>

using namespace weir;
using namespace weir::filter_host;
using namespace weir::filter_host::test;

namespace {

std::unique_ptr<ProcessingUnits> inline_units(Parameters parameters, ProcessingUnitsOptions options = {}) {
  options.units = 0;
  auto units = ProcessingUnits::create(load("scripted", WEIR_TEST_PLUGIN_DIR),
                                       config_of(std::move(parameters)), options);
  if (!units) FAIL(units.error().text);
  return std::move(*units);
}

}  // namespace

TEST_CASE("without threads jobs run inside drain, in the order in which they were submitted") {
  const auto units = inline_units({});
  TestSlice a(1);
  TestSlice b(2);
  const Job jobs[] = {{&a.view(), 11}, {&b.view(), 12}};
  REQUIRE(units->submit(jobs) == 2);
  CHECK(units->in_flight() == 2);
  CHECK(units->metrics().counters["processed"] == 0);
  std::vector<FilterResult*> results;
  units->drain(results);
  REQUIRE(results.size() == 2);
  CHECK(results[0]->token == 11);
  CHECK(results[1]->token == 12);
  CHECK(units->in_flight() == 0);
  CHECK_FALSE(units->oldest_start_ns());
  units->recycle(results);
}

TEST_CASE("jobs beyond the limit are not accepted, and draining makes room") {
  ProcessingUnitsOptions options;
  options.jobs_max = 3;
  const auto units = inline_units({}, options);
  TestSlice slice;
  const std::vector<Job> jobs(5, Job{&slice.view(), 0});
  CHECK(units->submit(jobs) == 3);
  CHECK(units->submit(jobs) == 0);
  std::vector<FilterResult*> results;
  units->drain(results);
  CHECK(units->submit(jobs) == 3);
}

TEST_CASE("returned results are reused") {
  const auto units = inline_units({});
  TestSlice slice;
  const Job job{&slice.view(), 0};
  std::vector<FilterResult*> first;
  REQUIRE(units->submit({&job, 1}) == 1);
  units->drain(first);
  units->recycle(first);
  std::vector<FilterResult*> second;
  REQUIRE(units->submit({&job, 1}) == 1);
  units->drain(second);
  CHECK(first == second);
}

TEST_CASE("without threads a submit to an empty queue wakes the caller's loop") {
  int woken = 0;
  ProcessingUnitsOptions options;
  options.wake = [&woken] { ++woken; };
  const auto units = inline_units({}, options);
  TestSlice slice;
  const Job job{&slice.view(), 0};
  REQUIRE(units->submit({&job, 1}) == 1);
  REQUIRE(units->submit({&job, 1}) == 1);
  CHECK(woken == 1);
  CHECK(units->submit({}) == 0);
}

TEST_CASE("units that cannot be made report why") {
  auto units =
      ProcessingUnits::create(load("scripted", WEIR_TEST_PLUGIN_DIR), config_of({{"number", "x"}}), {});
  REQUIRE_FALSE(units);
  CHECK(units.error().code == FilterErrorCode::create_failed);
}

TEST_CASE("after a stop no job is taken") {
  const auto units = inline_units({});
  CHECK(units->stop(0));
  TestSlice slice;
  const Job job{&slice.view(), 0};
  CHECK(units->submit({&job, 1}) == 0);
}
