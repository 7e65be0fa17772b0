#include "search.hpp"
#include "weir_catch.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace weir::protocol_test;

namespace {

constexpr std::uint64_t kStatesMax =
    3'000'000;  // a search that needs more is made smaller, or is for the night
constexpr std::uint64_t kStatesMaxAtNight = 60'000'000;

struct Named {
  std::string name;
  Scenario scenario;
};

// Slices of which there is only one have more that happens to them.
Scenario one_slice() {
  Scenario scenario;
  scenario.slices = 1;
  return scenario;
}

void search_all(const std::vector<Named>& scenarios, std::uint64_t states_max) {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  for (const Named& each : scenarios) {
    const auto begin = std::chrono::steady_clock::now();
    const Found found = search(each.scenario, states_max);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%-52s %9llu states %10llu steps %6llu ends %4llu deep %6.1f s\n", each.name.c_str(),
                static_cast<unsigned long long>(found.states), static_cast<unsigned long long>(found.steps),
                static_cast<unsigned long long>(found.ends), static_cast<unsigned long long>(found.longest),
                seconds.count());
    std::fflush(stdout);
    INFO(each.name << ":\n" << describe(found.way));
    CHECK(found.broken == "");
    CHECK(found.complete);
    states += found.states;
    steps += found.steps;
  }
  std::printf("in all %llu states, %llu steps\n", static_cast<unsigned long long>(states),
              static_cast<unsigned long long>(steps));
}

template <class Change>
Named with(std::string name, Scenario scenario, Change change) {
  change(scenario);
  return {std::move(name), scenario};
}

// No fault, and one of each kind alone.
std::vector<Named> single_faults(Scenario base) {
  const std::string slices = base.slices == 1 ? "1 slice: " : "2 slices: ";
  return {with(slices + "no fault", base, [](Scenario&) {}),
          with(slices + "a DCM dies", base, [](Scenario& s) { s.dcm_crashes = 1; }),
          with(slices + "a DCM's connection is lost", base, [](Scenario& s) { s.links_lost = 1; }),
          with(slices + "a readout dies", base, [](Scenario& s) { s.readout_crashes = 1; }),
          with(slices + "a writer dies", base, [](Scenario& s) { s.writer_crashes = 1; }),
          with(slices + "a writer's connection is lost", base, [](Scenario& s) { s.writer_links_lost = 1; }),
          with(slices + "the supervisor dies", base, [](Scenario& s) { s.supervisor_crashes = 1; }),
          with(slices + "a data connection is lost", base, [](Scenario& s) { s.data_links_lost = 1; })};
}

// Pairs of faults, with one slice and two writers.
std::vector<Named> pairs_of_faults(std::uint8_t writers, std::uint8_t ticks, bool gathers) {
  struct Fault {
    const char* name;
    std::uint8_t Scenario::*count;
  };
  constexpr Fault kFaults[] = {{"DCM dies", &Scenario::dcm_crashes},
                               {"DCM's connection", &Scenario::links_lost},
                               {"writer dies", &Scenario::writer_crashes},
                               {"writer's connection", &Scenario::writer_links_lost},
                               {"data connection", &Scenario::data_links_lost},
                               {"supervisor dies", &Scenario::supervisor_crashes}};
  std::vector<Named> all;
  for (std::size_t a = 0; a < std::size(kFaults); ++a) {
    for (std::size_t b = a; b < std::size(kFaults); ++b) {
      Scenario scenario = one_slice();
      scenario.writers = writers;
      scenario.ticks = ticks;
      scenario.gathers = gathers;
      ++(scenario.*kFaults[a].count);
      ++(scenario.*kFaults[b].count);
      all.push_back({std::string("1 slice: ") + kFaults[a].name + ", " + kFaults[b].name, scenario});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("with one fault of any kind at any moment two slices are each settled once and none is lost") {
  Scenario scenario;
  scenario.writers = 1;
  search_all(single_faults(scenario), kStatesMax);
}

TEST_CASE("with two faults of any kind at any moment a slice is settled once and never lost") {
  search_all(pairs_of_faults(1, 0, true), kStatesMax);
}

TEST_CASE("with leases that run out at any moment, and a fault, a slice is settled once and never lost") {
  Scenario scenario = one_slice();
  scenario.ticks = 2;
  search_all(single_faults(scenario), kStatesMax);
}

TEST_CASE("a slice that is handed back at any moment, and a fault, is settled once and never lost") {
  Scenario scenario = one_slice();
  scenario.hand_backs = 2;
  search_all(single_faults(scenario), kStatesMax);
}

TEST_CASE("the search finds each planted mistake, and prints its steps") {
  struct Mistake {
    const char* name;
    Planted planted;
    std::uint8_t Scenario::*fault;
    std::uint8_t writers;
  };
  constexpr Mistake kMistakes[] = {
      {"acknowledges before it syncs", Planted::acknowledges_before_sync, &Scenario::writer_crashes, 1},
      {"forgets fates", Planted::forgets_fates, &Scenario::dcm_crashes, 2},
      {"does not repeat acknowledgements", Planted::says_nothing_again, &Scenario::writer_links_lost, 2},
      {"does not report a missing slice", Planted::keeps_silent, &Scenario::writer_links_lost, 1},
      {"does not send again", Planted::sends_once, &Scenario::data_links_lost, 1}};
  for (const Mistake& mistake : kMistakes) {
    Scenario scenario = one_slice();
    scenario.writers = mistake.writers;
    scenario.gathers = false;
    scenario.*mistake.fault = 1;
    INFO(mistake.name);
    CHECK(search(scenario, kStatesMax).broken == "");
    scenario.planted = mistake.planted;
    const Found found = search(scenario, kStatesMax);
    CHECK(found.broken != "");
    CHECK(!found.way.empty());
    std::printf("planted: %-36s after %7llu states, by %2zu steps: %s\n", mistake.name,
                static_cast<unsigned long long>(found.states), found.way.size(), found.broken.c_str());
  }
}

// ./protocol_test "[nightly]": an hour, and some GB of memory.
TEST_CASE("through the night: larger bounds", "[.][nightly]") {
  Scenario scenario;
  scenario.ticks = 2;
  search_all(single_faults(scenario), kStatesMaxAtNight);
  search_all(pairs_of_faults(2, 2, true), kStatesMaxAtNight);
}
