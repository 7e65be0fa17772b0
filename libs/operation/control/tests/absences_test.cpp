// Findings about processes that are missing in a run, or were, on simulated time.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"

#include <string>

namespace weir::control {
namespace {

using namespace test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

void remove(HealthView& view, const std::string& name, DurationNs ago) {
  of(view, name).removed = true;
  of(view, name).removed_since_ns = ago;
  of(view, name).state = State::ready;
}

void die(HealthView& view, const std::string& name, std::uint32_t deaths, DurationNs ago) {
  Process& one = of(view, name);
  one.losses = one.deaths = deaths;
  one.since_loss_ns = one.since_death_ns = ago;
  one.last_end = "signal 11 (Segmentation fault)";
}

HealthView in_groups() {
  HealthView view = running();
  of(view, "dcm-0").group = of(view, "dcm-1").group = "local";
  of(view, "dcm-2").group = "far";
  view.groups["local"] = {3, 100};
  view.groups["far"] = {84, 1000};
  return view;
}

}  // namespace

TEST_CASE("removed processes are missing where no other stands in, with the command that adds them") {
  HealthView view = running();
  remove(view, "writer-1", 50 * kSecond);
  of(view, "writer-1").removed_by = "mark on daq-1, pid 4711";
  CHECK(health_of(view).front().gravity == Gravity::good);
  remove(view, "writer-0", 40 * kSecond);
  CHECK(health_of(view).front() ==
        Finding{Gravity::error, "no writer",
                "no accepted slice is stored: writer-0 (removed by an operator), writer-1 (removed "
                "by mark on daq-1, pid 4711): weir ctl add writer-0 writer-1"});
  view = running();
  for (const char* name : {"readout-0", "readout-1", "readout-2"}) remove(view, name, kSecond);
  CHECK_THAT(sentence(health_of(view).front()),
             StartsWith("no readout: no slice has any fragment: readout-0"));
  view = running();
  for (const char* name : {"dcm-0", "dcm-1"}) remove(view, name, kSecond);
  of(view, "dcm-1").removed_since_ns.reset();  // by an earlier run control
  lose(view, "dcm-2");
  hold(view, "supervisor", Hold::throttled, "SLICES_PENDING", "supervisor");
  CHECK(health_of(view).front().reason ==
        "no slice is built: dcm-2 (not heard), dcm-0 (removed by an operator), dcm-1 (removed "
        "by an operator): weir ctl add dcm-0 dcm-1");
}

TEST_CASE("the removal of all writers is a finding before the next run") {
  HealthView view = in_state(State::ready);
  for (const char* name : {"writer-0", "writer-1"}) remove(view, name, kSecond);
  CHECK(health_of(view).front().gravity == Gravity::warning);
  CHECK_THAT(sentence(health_of(view).front()),
             StartsWith("no writer: the next run would be without: writer-0"));
}

TEST_CASE("a process that dies again and again leads steadily, alive or not, with signal and advice") {
  HealthView view = running();
  hold(view, "supervisor", Hold::throttled, "SLICES_PENDING", "supervisor");
  view.lost = {{"missing.source_down", 40}};
  for (std::uint32_t deaths = 1; deaths < 20; ++deaths) {
    // A death every 3 s, each of which takes a second of silence.
    for (const DurationNs ago : {0 * kSecond, kSecond, 2 * kSecond}) {
      die(view, "dcm-0", deaths, ago);
      of(view, "dcm-0").live = ago < 2 * kSecond;
      const auto health = health_of(view);
      INFO(all_of(health));
      if (deaths < 3) continue;
      CHECK(health[0].gravity == Gravity::error);
      CHECK(health[0].word == "dcm-0 dies again and again");
      CHECK_THAT(health[0].reason, ContainsSubstring(std::to_string(deaths) + " times in this run") &&
                                       ContainsSubstring("by signal 11 (Segmentation fault)") &&
                                       ContainsSubstring("filter.isolation: worker"));
    }
  }
  // It is over a minute after the last death.
  of(view, "dcm-0").live = true;
  of(view, "dcm-0").since_death_ns = 61 * kSecond;
  CHECK_THAT(all_of(health_of(view)), !ContainsSubstring("dies again"));
}

TEST_CASE("the only DCM in a loop leads before the absence that it causes") {
  HealthView view = running();
  for (const char* name : {"dcm-1", "dcm-2"}) remove(view, name, kSecond);
  die(view, "dcm-0", 4, 5 * kSecond);
  lose(view, "dcm-0");
  const auto health = health_of(view);
  CHECK(health[0].word == "dcm-0 dies again and again");
  CHECK(health[1].word == "no DCM");
}

TEST_CASE("a process that returns as itself was away and did not die") {
  HealthView view = running();
  of(view, "readout-1").losses = 2;
  of(view, "readout-1").since_loss_ns = 4 * kSecond;
  const auto health = health_of(view);
  REQUIRE(health.size() == 1);
  CHECK(health[0].word == "processes were away");
  CHECK_THAT(health[0].reason, StartsWith("readout-1 (2 times) silent for a while"));
}

TEST_CASE("a group without a DCM is an error that names its slices and its limit") {
  HealthView view = in_groups();
  lose(view, "dcm-2");
  CHECK(health_of(view).front() ==
        Finding{Gravity::error, "no DCM of group far",
                "no slice of the group is built: 84 slices of the group wait, at most 1000; dcm-2 (not "
                "heard)"});
  view = in_groups();
  lose(view, "dcm-1");
  CHECK(health_of(view).front() == Finding{Gravity::warning, "DCM of group local lost",
                                           "dcm-1 (not heard): the others take the slices"});
}

TEST_CASE("processes of one host that vanish together are named as a host") {
  HealthView view = running();
  for (Process& one : view.processes) one.host = "hall";
  for (const char* name : {"dcm-0", "dcm-1", "readout-0"}) {
    of(view, name).host = "node7";
    lose(view, name);
  }
  CHECK(health_of(view).front() ==
        Finding{Gravity::error, "host node7 lost",
                "none of its 3 processes is heard: check the machine and its network "
                "(readout-0, dcm-0, dcm-1)"});
  of(view, "dcm-1").live = true;
  CHECK_THAT(all_of(health_of(view)), !ContainsSubstring("host node7"));
  // A farm on one host has no other host to compare with.
  for (Process& one : view.processes) one.host = "hall";
  CHECK_THAT(all_of(health_of(view)), !ContainsSubstring("host"));
}

}  // namespace weir::control
