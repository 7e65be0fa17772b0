#include "seeds.hpp"
#include "shrink.hpp"
#include "weir_catch.hpp"

using namespace weir;
using sim::make_scenario;
using sim::run_scenario;
using sim::Scenario;

TEST_CASE("a farm without faults stores what its filter accepts, and nothing is missing") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Scenario scenario = make_scenario(seed);
    scenario.faults.clear();
    const sim::Outcome outcome = run_scenario(scenario, false);
    CHECK(outcome.problem == "");
    CHECK(outcome.triggered == scenario.slices);
    CHECK(outcome.deaths == 0);
  }
}

TEST_CASE("the same seed gives the same run, another seed another") {
  for (std::uint64_t seed = 11; seed <= 20; ++seed) {
    CAPTURE(seed);
    const sim::Outcome once = run_scenario(make_scenario(seed), false);
    const sim::Outcome again = run_scenario(make_scenario(seed), false);
    const sim::Outcome other = run_scenario(make_scenario(seed + 100), false);
    CHECK(once.trace_hash == again.trace_hash);
    CHECK(once.trace_events == again.trace_events);
    CHECK(once.ledger == again.ledger);
    CHECK(once.trace_hash != other.trace_hash);
  }
}

// Readouts that had not heard of the run's begin (30, 1683); a pushed slice whose assignment was lost (444),
// and one whose rest was never asked for (301390); an account that nobody took (11314); a writer's last words
// that a DCM did not hear (401563).
TEST_CASE("seeds that once found a bug find none") {
  for (const std::uint64_t seed : {30U, 444U, 1683U, 11314U, 301390U, 401563U}) {
    CAPTURE(seed);
    CHECK(run_scenario(make_scenario(seed), false).problem == "");
  }
}

TEST_CASE("a scenario is drawn from its seed alone") {
  const Scenario one = make_scenario(7);
  const Scenario same = make_scenario(7);
  CHECK(one.farm == same.farm);
  REQUIRE(one.faults.size() == same.faults.size());
  for (std::size_t i = 0; i < one.faults.size(); ++i)
    CHECK(describe(one.faults[i]) == describe(same.faults[i]));
}
