// Processes that are paused from outside: a batch system, a frozen virtual machine, a debugger.
#include "seeds.hpp"
#include "weir_catch.hpp"

#include <string>
#include <vector>

using namespace weir;
using sim::make_scenario;
using sim::run_scenario;
using sim::Scenario;

namespace {

std::vector<std::string> processes_of(const Scenario& scenario) {
  std::vector<std::string> names{"supervisor"};
  const auto add = [&](const std::string& role, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) names.push_back(role + "-" + std::to_string(i));
  };
  add("readout", scenario.readouts);
  add("dcm", scenario.dcms);
  add("writer", scenario.writers);
  return names;
}

// All processes stop at the same time, and go on one after another.
void pause_all(Scenario& scenario, TimeNs at_ns, DurationNs lasts_ns, DurationNs apart_ns) {
  scenario.faults.clear();
  DurationNs later_ns = 0;
  for (const std::string& name : processes_of(scenario)) {
    scenario.faults.push_back({sim::FaultKind::stall, at_ns, lasts_ns + later_ns, name, "", 0});
    later_ns += apart_ns;
  }
  scenario.faults_end_ns = at_ns + lasts_ns + later_ns;
}

constexpr TimeNs kAt = 300 * kMillisecond;

}  // namespace

// Longer than every lease, deadline and time limit of these farms.
TEST_CASE("a farm that is paused as a whole for two minutes goes on as before") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario scenario = make_scenario(seed);
    CAPTURE(seed);
    scenario.faults.clear();
    const sim::Outcome plain = run_scenario(scenario, false);
    pause_all(scenario, kAt, 120 * kSecond, 0);
    const sim::Outcome paused = run_scenario(scenario, false);
    CHECK(paused.problem == "");
    CHECK(paused.triggered == plain.triggered);
    if (scenario.patient && plain.missing == 0) CHECK(paused.missing == 0);
  }
}

TEST_CASE("processes of a paused farm that go on one after another lose no slice") {
  for (std::uint64_t seed = 41; seed <= 60; ++seed) {
    CAPTURE(seed);
    Scenario scenario = make_scenario(seed);
    pause_all(scenario, kAt, 120 * kSecond, 150 * kMillisecond);
    const sim::Outcome outcome = run_scenario(scenario, false);
    CHECK(outcome.problem == "");
    CHECK(outcome.triggered == scenario.slices);
  }
}

TEST_CASE("one process that is paused for long costs no slice") {
  for (std::uint64_t seed = 81; seed <= 85; ++seed) {
    Scenario scenario = make_scenario(seed);
    for (const std::string& name : processes_of(scenario)) {
      CAPTURE(seed, name);
      scenario.faults = {{sim::FaultKind::stall, kAt, 35 * kSecond, name, "", 0}};
      scenario.faults_end_ns = kAt + 35 * kSecond;
      const sim::Outcome outcome = run_scenario(scenario, false);
      CHECK(outcome.problem == "");
      CHECK(outcome.triggered == scenario.slices);
    }
  }
}
