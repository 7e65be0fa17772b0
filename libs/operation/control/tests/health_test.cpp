// Findings for a farm in trouble: the worst first, with its reason.
#include "healthy_farm.hpp"
#include "weir_catch.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weir::control {
namespace {

using namespace test;
using Catch::Matchers::ContainsSubstring;
using Process = HealthView::Process;

struct Case {
  const char* what;
  HealthView view;
  std::function<void(HealthView&)> change;
  Gravity gravity;
  const char* word;
  const char* reason;  // the expected reason
};

std::vector<Case> emergencies() {
  return {
      {"the only disk that is left is full", running(),
       [](HealthView& view) {
         for (const char* name : {"writer-0", "writer-1"})
           hold(view, name, Hold::blocked, "WRITER_DISK_FULL", name);
         hold(view, "supervisor", Hold::throttled, "WRITER_DISK_FULL", "writer-0");
       },
       Gravity::error, "blocked", "writer-0, writer-1: a sentence (WRITER_DISK_FULL)"},
      {"one disk of two is full", running(),
       [](HealthView& view) { hold(view, "writer-1", Hold::blocked, "WRITER_DISK_FULL", "writer-1"); },
       Gravity::warning, "blocked", "writer-1: a sentence (WRITER_DISK_FULL)"},
      {"all DCMs are dead, and for that the triggers are throttled", running(),
       [](HealthView& view) {
         for (const char* name : {"dcm-0", "dcm-1", "dcm-2"}) lose(view, name);
         hold(view, "supervisor", Hold::throttled, "SLICES_PENDING", "supervisor");
       },
       Gravity::error, "no DCM", "no slice is built: dcm-0 (not heard), dcm-1"},
      {"all DCMs live and none is in the run", running(),
       [](HealthView& view) {
         for (const char* name : {"dcm-0", "dcm-1", "dcm-2"}) of(view, name).state = State::ready;
       },
       Gravity::error, "no DCM", "dcm-0 (ready)"},
      {"a DCM is dead", running(), [](HealthView& view) { lose(view, "dcm-1"); }, Gravity::warning,
       "DCM lost", "dcm-1 (not heard): the others take the slices"},
      {"a DCM that is essential is dead", running(),
       [](HealthView& view) {
         lose(view, "dcm-1");
         of(view, "dcm-1").essential = true;
       },
       Gravity::error, "DCM lost", "dcm-1"},
      {"a DCM is in error", running(),
       [](HealthView& view) {
         of(view, "dcm-1").state = State::error;
         of(view, "dcm-1").reason = "cannot open the plugin";
       },
       Gravity::warning, "DCM lost", "dcm-1 (in error: cannot open the plugin)"},
      {"readouts are silent", running(),
       [](HealthView& view) {
         lose(view, "readout-0");
         lose(view, "readout-2");
       },
       Gravity::error, "2 readouts lost", "their fragments are missing"},
      {"the supervisor is gone", running(), [](HealthView& view) { lose(view, "supervisor", 3 * kSecond); },
       Gravity::error, "no supervisor", "no slice is triggered or assigned: supervisor (not heard)"},
      {"both writers are gone", running(),
       [](HealthView& view) {
         lose(view, "writer-0");
         lose(view, "writer-1");
       },
       Gravity::error, "no writer", "no accepted slice is stored"},
      {"the bus is lost", running(),
       [](HealthView& view) {
         for (Process& one : view.processes) lose(view, one.name, 8 * kSecond);
       },
       Gravity::error, "nobody heard", "none of the 9 processes is heard: they have ended"},
      {"a process is stopped, and not yet taken for gone", running(),
       [](HealthView& view) { of(view, "readout-1").silent_ns = 3 * kSecond; }, Gravity::warning, "silent",
       "readout-1 is silent"},
      {"filters crash their DCMs, which come back", running(),
       [](HealthView& view) {
         of(view, "dcm-0").deaths = 2;
         of(view, "dcm-0").since_death_ns = 4 * kSecond;
         of(view, "dcm-2").deaths = 1;
         of(view, "dcm-2").since_death_ns = 20 * kSecond;
         of(view, "dcm-2").last_end = "signal 9 (Killed)";
       },
       Gravity::warning, "processes die",
       "dcm-0 (2 times), dcm-2 (1 time: signal 9 (Killed)) lost and back in this run"},
      {"writers are slow", running(),
       [](HealthView& view) {
         hold(view, "dcm-0", Hold::blocked, "WRITER_TOO_SLOW", "dcm-0");
         hold(view, "dcm-1", Hold::blocked, "WRITER_TOO_SLOW", "dcm-1");
       },
       Gravity::warning, "throttled", "dcm-0, dcm-1: a sentence (WRITER_TOO_SLOW)"},
      {"a disk hangs", running(),
       [](HealthView& view) {
         for (const char* name : {"writer-0", "writer-1"})
           hold(view, name, Hold::blocked, "WRITER_DISK_STALLS", name);
       },
       Gravity::error, "blocked", "WRITER_DISK_STALLS"},
      {"run control restarted a moment ago", running(),
       [](HealthView& view) {
         view.recalled = true;
         view.up_ns = 3 * kSecond;
         for (Process& one : view.processes) one.live = one.known = one.name == "dcm-0";
       },
       Gravity::warning, "run control restarted",
       "it waits for reports of supervisor, readout-0, readout-1, readout-2 and 4 more"},
      {"processes that have not returned some time after a restart of run control are gone", running(),
       [](HealthView& view) {
         view.recalled = true;
         view.up_ns = 12 * kSecond;
         of(view, "writer-0").live = of(view, "writer-0").known = false;
       },
       Gravity::warning, "writer lost", "writer-0 (never heard): the others store"},
      {"run control was started again, and all are there", running(),
       [](HealthView& view) {
         view.recalled = true;
         view.up_ns = 12 * kSecond;
       },
       Gravity::waiting, "run control restarted", "it has taken over the farm"},
      {"nothing is settled for a while", running(),
       [](HealthView& view) {
         view.unsettled_ns = 12 * kSecond;
         view.in_flight = 80;
       },
       Gravity::warning, "stalled", "no slice is settled, and 80 slices wait"},
      {"nothing is settled any more", running(),
       [](HealthView& view) {
         view.unsettled_ns = 31 * kSecond;
         view.in_flight = 1;
       },
       Gravity::error, "stalled", "no slice is settled, and 1 slice waits"},
      {"fragments are missing", running(),
       [](HealthView& view) {
         view.lost = {{"missing.deadline", 40}, {"missing.source_down", 2}};
       },
       Gravity::warning, "fragments missing",
       "42 fragments were missing in the last 10 s (deadline, source_down)"},
      {"slices are discarded, and fragments missing too", running(),
       [](HealthView& view) {
         view.lost = {{"discarded.deadline", 1}, {"missing.deadline", 40}};
       },
       Gravity::warning, "slices discarded", "1 slice was discarded in the last 10 s (deadline)"},
      {"the last run ended badly", in_state(State::ready),
       [](HealthView& view) { view.last->balanced = false; }, Gravity::error, "run 5 ended badly",
       "its ledger does not balance; ended: stopped"},
      {"the last run failed", in_state(State::ready),
       [](HealthView& view) { view.last->failure = "no writer is left"; }, Gravity::error,
       "run 5 ended badly", "no writer is left; its ledger balances"},
      {"the last run has no account", in_state(State::ready),
       [](HealthView& view) { view.last->accounted = false; }, Gravity::error, "run 5 ended badly",
       "it has no account: stopped"},
      {"the last run never began", in_state(State::ready),
       [](HealthView& view) {
         view.last->accounted = view.last->began = false;
         view.last->reason = "no connection from dcm-0";
       },
       Gravity::error, "run 5 never began", "no connection from dcm-0"},
      {"the last run was reset", in_state(State::idle),
       [](HealthView& view) {
         view.last->accounted = false;
         view.last->was_reset = true;
         view.last->reason = "it was reset";
       },
       Gravity::warning, "run 5 was given up", "it was reset"},
      {"the last run was cut short", in_state(State::ready),
       [](HealthView& view) { view.last->discarded_at_stop = 40; }, Gravity::warning, "run 5 was cut short",
       "40 slices in flight discarded"},
      {"configure was refused", in_state(State::standby),
       [](HealthView& view) { view.refusal = "dcm-0: farm.yaml:9: filter.parameters.minimum: above 100"; },
       Gravity::error, "configure refused", "filter.parameters.minimum"},
      {"triggers stay away", running(), [](HealthView& view) { view.flow.silent_ns = 12 * kSecond; },
       Gravity::warning, "no triggers", "no trigger arrives any more"},
      {"triggers are rare", running(),
       [](HealthView& view) {
         view.flow.rate = 20;
         view.flow.mean_rate = 200;
       },
       Gravity::warning, "low rate", "20 Hz, 10 % of the mean of the last minutes, 200 Hz"},
      {"most of the time is dead", running(), [](HealthView& view) { view.flow.live_share = 0.2; },
       Gravity::warning, "dead time", "80 % of the last 10 s took no triggers"},
      {"the last run had faults", in_state(State::idle), [](HealthView& view) { view.last->faults = true; },
       Gravity::warning, "run 5 had faults", "its ledger balances"},
      {"the farm is in error", in_state(State::ready),
       [](HealthView& view) {
         view.state = State::error;
         view.reason = "start failed: dcm-0 did not follow in time";
         lose(view, "dcm-0");
       },
       Gravity::error, "error", "start failed"},
      {"a process is in error, without a run", in_state(State::standby),
       [](HealthView& view) {
         of(view, "dcm-1").state = State::error;
         of(view, "dcm-1").reason = "the plugin is of another ABI";
       },
       Gravity::error, "process in error", "dcm-1 (the plugin is of another ABI)"},
      {"a process is gone, without a run", in_state(State::ready),
       [](HealthView& view) { lose(view, "dcm-1"); }, Gravity::warning, "process gone", "dcm-1"},
  };
}

}  // namespace

TEST_CASE("in each emergency the worst finding is first, with its reason") {
  for (Case& one : emergencies()) {
    INFO(one.what);
    const Finding calm = health_of(one.view).front();
    CHECK(calm.gravity <= Gravity::waiting);
    one.change(one.view);
    const std::vector<Finding> health = health_of(one.view);
    INFO(all_of(health));
    CHECK(health.front().gravity == one.gravity);
    CHECK(health.front().word == one.word);
    CHECK_THAT(health.front().reason, ContainsSubstring(one.reason));
    for (std::size_t i = 1; i < health.size(); ++i) CHECK(health[i].gravity <= health[i - 1].gravity);
  }
}

TEST_CASE("a farm without findings shows its state") {
  CHECK(health_of(running()) == std::vector<Finding>{{Gravity::good, "running", ""}});
  CHECK(health_of(in_state(State::ready)) ==
        std::vector<Finding>{{Gravity::waiting, "ready", "run 5 ended: stopped; its ledger balances"}});
  CHECK(health_of(in_state(State::paused)).front().word == "paused");
  HealthView empty;
  CHECK(health_of(empty).front().word == "idle");
}

TEST_CASE("removed, ended and stopping processes are not reported as missing") {
  HealthView view = running();
  lose(view, "dcm-1");
  of(view, "dcm-1").removed = true;
  of(view, "writer-1").state = State::ready;
  of(view, "writer-1").over = true;
  CHECK(health_of(view).front().gravity == Gravity::good);
  view.under_way = Command::stop;
  view.waits_for = {"dcm-0", "dcm-2"};
  of(view, "dcm-0").state = State::ready;
  const auto health = health_of(view);
  REQUIRE(health.size() == 1);
  CHECK(health[0] == Finding{Gravity::waiting, "stop is under way", "waits for dcm-0, dcm-2"});
  lose(view, "dcm-2");
  CHECK(health_of(view).front().word == "DCM lost");
}

TEST_CASE("a gathering farm is waiting, and the previous run is shown until the next begins") {
  HealthView view = in_state(State::idle);
  view.last.reset();
  for (Process& one : view.processes) one.live = one.known = false;
  CHECK(
      health_of(view).front() ==
      Finding{Gravity::waiting, "incomplete",
              "9 of 9 processes not yet connected: supervisor, readout-0, readout-1, readout-2 and 5 more"});
  HealthView next = in_state(State::ready);
  next.last->balanced = false;
  CHECK(health_of(next).front().gravity == Gravity::error);
  next.under_way = Command::start;
  CHECK(health_of(next).front().word == "start is under way");
}

TEST_CASE("slices that the disk of a burst ring did not take are a warning, with the DCMs") {
  HealthView view = running();
  view.processes[4].ring_missed = 7;
  view.processes[5].ring_missed = 1;
  const std::vector<Finding> found = health_of(view);
  REQUIRE(found.size() == 1);
  CHECK(found[0].gravity == Gravity::warning);
  CHECK(found[0].word == "burst ring");
  CHECK_THAT(found[0].reason, ContainsSubstring("dcm-0, dcm-1: 8 slices"));
}

TEST_CASE("one cause named by many is shown once, and a paused run is not throttled") {
  HealthView view = running();
  hold(view, "writer-0", Hold::blocked, "WRITER_DISK_FULL", "writer-0");
  hold(view, "supervisor", Hold::throttled, "WRITER_DISK_FULL", "writer-0");
  CHECK(health_of(view).size() == 1);
  view = in_state(State::paused);
  hold(view, "supervisor", Hold::throttled, "RUN_PAUSED", "supervisor");
  CHECK(health_of(view) == std::vector<Finding>{{Gravity::waiting, "paused", "no triggers until continue"}});
}

TEST_CASE("a cause outranks its consequences, also when these are grave") {
  HealthView view = running();
  hold(view, "supervisor", Hold::throttled, "SLICES_PENDING", "supervisor");
  hold(view, "readout-0", Hold::throttled, "READOUT_BUFFER_BYTES", "readout-0");
  hold(view, "dcm-0", Hold::throttled, "FILTER_TOO_SLOW", "dcm-0");
  hold(view, "dcm-1", Hold::throttled, "FILTER_TOO_SLOW", "dcm-1");
  view.flow.live_share = 0.1;
  auto told = health_of(view);
  REQUIRE(told.size() == 4);
  CHECK_THAT(told[0].reason, ContainsSubstring("dcm-0, dcm-1") && ContainsSubstring("FILTER_TOO_SLOW"));
  CHECK_THAT(told[1].reason, ContainsSubstring("SLICES_PENDING"));
  CHECK_THAT(told[2].reason, ContainsSubstring("READOUT_BUFFER_BYTES"));
  CHECK(told[3].word == "dead time");

  view.unsettled_ns = 40 * kSecond;
  view.in_flight = 12;
  told = health_of(view);
  CHECK(told[0].gravity == Gravity::error);
  CHECK_THAT(told[0].reason, ContainsSubstring("FILTER_TOO_SLOW"));

  hold(view, "writer-0", Hold::blocked, "WRITER_DISK_STALLS", "writer-0");
  hold(view, "writer-1", Hold::blocked, "WRITER_DISK_STALLS", "writer-1");
  CHECK_THAT(health_of(view)[0].reason, ContainsSubstring("WRITER_DISK_STALLS"));
}

TEST_CASE("an orderly end is good, and the last run's result stays visible") {
  HealthView view = in_state(State::running);
  for (Process& one : view.processes) one.live = false;
  view.over = true;
  auto told = health_of(view);
  REQUIRE(told.size() == 1);
  CHECK(told[0].gravity == Gravity::good);
  CHECK(told[0].word == "run 5 ended");
  CHECK(told[0].reason == "stopped; its ledger balances");
  view.off = true;
  view.under_way = Command::off;
  view.waits_for = {"dcm-0"};
  told = health_of(view);
  CHECK(sentence(told[0]) == "off is under way: waits for dcm-0");
  view.under_way.reset();
  told = health_of(view);
  CHECK(sentence(told[0]) == "the farm is off: run 5 ended: stopped; its ledger balances");
  CHECK(told[0].gravity == Gravity::waiting);
  view.last->balanced = false;
  told = health_of(view);
  CHECK(told[0].gravity == Gravity::error);
  CHECK(told[0].word == "run 5 ended badly");
}

TEST_CASE("a run that drains by itself is shown as draining, not as quiet") {
  HealthView view = running();
  view.draining = true;
  view.in_flight = 30;
  view.flow.silent_ns = 20 * kSecond;
  const auto told = health_of(view);
  REQUIRE(told.size() == 1);
  CHECK(told[0].word == "draining");
  CHECK_THAT(told[0].reason, ContainsSubstring("30 slices in flight"));
}

TEST_CASE("gravities have names, and are found by them") {
  for (const Gravity one : {Gravity::good, Gravity::waiting, Gravity::warning, Gravity::error})
    CHECK(gravity_of(name(one)) == one);
  CHECK(!gravity_of("grave"));
}

// ---- progress

namespace {

RunProgress::Counts counts(std::uint64_t settled, std::uint64_t in_flight, std::uint64_t missing = 0) {
  RunProgress::Counts counts{RunNumber(1), settled, in_flight, {}};
  if (missing > 0) counts.lost["missing.deadline"] = missing;
  return counts;
}

}  // namespace

TEST_CASE("a run that settles nothing while slices are in flight is noticed, one that has none is not") {
  RunProgress progress;
  CHECK(progress.unsettled_ns(5 * kSecond) == 0);
  progress.take(counts(100, 8), 10 * kSecond);
  progress.take(counts(100, 8), 20 * kSecond);
  CHECK(progress.unsettled_ns(22 * kSecond) == 12 * kSecond);
  CHECK(progress.in_flight() == 8);
  progress.take(counts(101, 8), 23 * kSecond);
  CHECK(progress.unsettled_ns(23 * kSecond) == 0);
  progress.take(counts(109, 0), 30 * kSecond);
  CHECK(progress.unsettled_ns(90 * kSecond) == 0);
  // The wait begins with the slice, not with the last settled one.
  progress.take(counts(109, 0), 90 * kSecond);
  progress.take(counts(109, 1), 91 * kSecond);
  CHECK(progress.unsettled_ns(93 * kSecond) == 3 * kSecond);
  progress.take({RunNumber(2), 0, 5, {}}, 94 * kSecond);
  CHECK(progress.unsettled_ns(95 * kSecond) == kSecond);
}

TEST_CASE("losses count for ten seconds, and a new run counts from zero") {
  RunProgress progress;
  TimeNs now = kSecond;
  progress.take(counts(1, 1, 50), now);
  CHECK(progress.lost_lately().empty());
  progress.take(counts(2, 1, 57), now += kSecond);
  CHECK(progress.lost_lately() == std::vector<LostLately>{{"missing.deadline", 7}});
  for (int i = 0; i < 9; ++i) progress.take(counts(3, 1, 57), now += kSecond);
  CHECK(progress.lost_lately().size() == 1);
  progress.take(counts(4, 1, 57), now += kSecond);
  CHECK(progress.lost_lately().empty());
  progress.take(counts(5, 1, 60), now += kSecond);
  progress.take({RunNumber(2), 0, 1, {{"missing.deadline", 3}}}, now += kSecond);
  CHECK(progress.lost_lately().empty());
  // A total that fell belongs to a restarted process.
  progress.take({RunNumber(2), 0, 1, {{"missing.deadline", 9}}}, now += kSecond);
  progress.take({RunNumber(2), 0, 1, {{"missing.deadline", 2}}}, now += kSecond);
  CHECK(progress.lost_lately().empty());
}

TEST_CASE("a source that has stopped is an error before the fragments that it costs") {
  HealthView view = running();
  of(view, "readout-1").silent_sources = "source 3";
  view.lost = {{"missing.deadline", 240}};
  const std::vector<Finding> health = health_of(view);
  REQUIRE(health.size() == 2);
  CHECK(health[0] == Finding{Gravity::error, "source silent",
                             "no data of source 3 at readout-1: the front-end has "
                             "stopped, or its run() hangs"});
  CHECK(health[1].word == "fragments missing");
}

TEST_CASE("DCMs that have left their plane are a warning") {
  HealthView view = running();
  of(view, "dcm-0").other_plane = "b instead of a";
  const std::vector<Finding> health = health_of(view);
  REQUIRE(health.size() == 1);
  CHECK(health[0] == Finding{Gravity::warning, "plane",
                             "dcm-0 through b instead of a: check the links and switches of the plane that "
                             "was left"});
}

TEST_CASE("a source out of step is an error") {
  HealthView view = running();
  of(view, "readout-1").out_of_step = "source 3 out of step by -1 since slice 4711";
  const std::vector<Finding> health = health_of(view);
  REQUIRE(health.size() == 1);
  CHECK(health[0] == Finding{Gravity::error, "out of step",
                             "source 3 out of step by -1 since slice 4711 at readout-1: its data are in the "
                             "wrong slices, and are marked there"});
}

}  // namespace weir::control
