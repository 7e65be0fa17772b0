#include "weir_catch.hpp"
#include <weir/control/rules.hpp>

#include <string>
#include <vector>

namespace weir::control {
namespace {

struct World {
  explicit World(std::vector<Rule> wanted) : rules(std::move(wanted)) {
    view.state = State::running;
    view.run = RunNumber(1);
    view.processes = {{"supervisor", Role::supervisor, true, false, State::running, "running"},
                      {"writer-0", Role::writer, true, false, State::running, "running"},
                      {"dcm-0", Role::dcm, true, false, State::running, "running"},
                      {"dcm-1", Role::dcm, true, false, State::running, "running"}};
  }
  // A second later.
  std::vector<Firing> look() {
    now += kSecond;
    view.run_ns += kSecond;
    return rules.look(view, now);
  }
  std::size_t fired_in(int looks) {
    std::size_t fired = 0;
    for (int i = 0; i < looks; ++i) fired += look().size();
    return fired;
  }

  Rules rules;
  RulesView view;
  TimeNs now = 0;
};

Rule rule_of(Condition when, Act act) {
  Rule rule;
  rule.name = "one";
  rule.when = when;
  rule.act = act;
  return rule;
}

TEST_CASE("an old run fires once, and the next run fires again") {
  Rule rule = rule_of(Condition::run_seconds, Act::start_next);
  rule.value = 3;
  rule.again_ns = kSecond;
  World world({rule});
  CHECK(world.fired_in(2) == 0);
  const auto firings = world.look();
  REQUIRE(firings.size() == 1);
  CHECK(firings[0].why == "rule one: the run was started 3 s ago");
  CHECK(firings[0].processes.empty());
  world.view.under_way = true;  // the run is being stopped
  CHECK(world.fired_in(5) == 0);
  world.view = World({}).view;
  world.view.run = RunNumber(2);
  CHECK(world.fired_in(2) == 0);
  CHECK(world.look().size() == 1);
}

TEST_CASE("a reason counts for the process that causes it, whichever process reports it") {
  Rule rule = rule_of(Condition::reason, Act::stop);
  rule.reason = "WRITER_DISK_FULL";
  rule.of = {"writer"};
  World world({rule});
  CHECK(world.fired_in(3) == 0);
  world.view.processes[0].said = "throttled: WRITER_DISK_FULL writer-0";
  auto firings = world.look();
  REQUIRE(firings.size() == 1);
  CHECK(firings[0].processes == std::vector<std::size_t>{1});
  CHECK(firings[0].why == "rule one: writer-0 says WRITER_DISK_FULL");
  World other({rule});
  other.view.processes[0].said = "throttled: WRITER_DISK_FULL_TOO writer-0";
  other.view.processes[2].said = "blocked: WRITER_DISK_FULL";
  CHECK(other.fired_in(3) == 0);
  other.view.processes[1].said = "blocked: WRITER_DISK_FULL writer-0 for 3 s";
  CHECK(other.look().size() == 1);
}

TEST_CASE("a condition has to hold without a break") {
  Rule rule = rule_of(Condition::process_gone, Act::warn);
  rule.of = {"dcm-1"};
  rule.for_ns = 3 * kSecond;
  World world({rule});
  world.view.processes[3].live = false;
  CHECK(world.fired_in(3) == 0);
  world.view.processes[3].live = true;
  CHECK(world.fired_in(1) == 0);
  world.view.processes[3].live = false;
  CHECK(world.fired_in(3) == 0);
  CHECK(world.look().size() == 1);
}

TEST_CASE("a rule fires again after its pause, and no more often than it may in all") {
  Rule rule = rule_of(Condition::process_error, Act::reset);
  rule.again_ns = 10 * kSecond;
  rule.times_max = 3;
  World world({rule});
  world.view.processes[2].state = State::error;
  CHECK(world.fired_in(10) == 1);
  CHECK(world.fired_in(10) == 1);
  CHECK(world.fired_in(100) == 1);
}

TEST_CASE("all processes of a kind are named, and removed ones are ignored") {
  Rule rule = rule_of(Condition::process_gone, Act::warn);
  rule.of = {"dcm"};
  World world({rule});
  world.view.processes[1].live = false;
  world.view.processes[2].live = false;
  world.view.processes[3].live = false;
  const auto firings = world.look();
  REQUIRE(firings.size() == 1);
  CHECK(firings[0].why == "rule one: dcm-0, dcm-1 away");
  World removed({rule});
  removed.view.processes[2].live = false;
  removed.view.processes[2].removed = true;
  CHECK(removed.fired_in(3) == 0);
  World idle({rule});
  idle.view.processes[2].live = false;
  idle.view.state = State::idle;
  CHECK(idle.fired_in(3) == 0);
}

TEST_CASE("livetime is that between the supervisor's last two reports") {
  Rule rule = rule_of(Condition::livetime_below, Act::pause);
  rule.value = 0.9;
  World world({rule});
  CHECK(world.fired_in(2) == 0);
  world.view.livetime = {100 * kSecond, 40 * kSecond};  // earlier losses no longer count
  CHECK(world.fired_in(2) == 0);
  world.view.livetime = {101 * kSecond, 40 * kSecond + 50 * kMillisecond};
  CHECK(world.fired_in(2) == 0);
  world.view.livetime = {102 * kSecond, 40 * kSecond + 250 * kMillisecond};
  const auto firings = world.look();
  REQUIRE(firings.size() == 1);
  CHECK(firings[0].why == "rule one: livetime is 80 %");
}

TEST_CASE("rules fire in their order, each on its own") {
  Rule first = rule_of(Condition::run_seconds, Act::warn);
  Rule second = rule_of(Condition::run_seconds, Act::stop);
  second.name = "two";
  World world({first, second});
  const auto firings = world.look();
  REQUIRE(firings.size() == 2);
  CHECK(firings[0].rule == 0);
  CHECK(firings[1].rule == 1);
}

}  // namespace
TEST_CASE("rules look at the flow of triggers while a run is on and triggers are expected") {
  Rule quiet = rule_of(Condition::no_triggers_s, Act::warn);
  quiet.value = 10;
  Rule slow = rule_of(Condition::rate_below, Act::warn);
  slow.name = "two";
  slow.value = 0.5;
  World world({quiet, slow});
  CHECK(world.fired_in(3) == 0);
  world.view.flow = RulesView::Flow{9 * kSecond, 40.0, 50.0};
  CHECK(world.fired_in(1) == 0);
  world.view.flow = RulesView::Flow{10 * kSecond, 20.0, 50.0};
  const auto fired = world.look();
  REQUIRE(fired.size() == 2);
  CHECK(fired[0].why == "rule one: no trigger for 10 s");
  CHECK(fired[1].why == "rule two: the trigger rate is 40 % of its mean");
  world.now += 100 * kSecond;
  world.view.state = State::paused;
  CHECK(world.fired_in(1) == 0);
  world.view.state = State::running;
  world.view.flow->mean_rate.reset();
  world.view.flow->silent_ns = 0;
  CHECK(world.fired_in(1) == 0);
}

}  // namespace weir::control
