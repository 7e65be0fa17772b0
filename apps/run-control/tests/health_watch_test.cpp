#include "../src/health_watch.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

#include <algorithm>

using namespace weir;
using namespace weir::run_control;

namespace {

// Run 1 is on, and everyone takes part.
struct Running {
  Running() {
    control::Remembered before;
    before.goal = control::State::running;
    before.run = RunNumber(1);
    before.run_open = true;
    farm.machine.recall(before, farm.parts.now_ns);
    for (const control::Member& one : farm.machine.members()) {
      v1::Join join;
      farm.members.joined(farm.member(one.plan.name), {one.plan.name, "", security::BusRole::node}, join);
      control::MemberState told;
      told.state = control::State::running;
      told.run = RunNumber(1);
      told.begun = true;
      farm.machine.joined(farm.member(one.plan.name), Incarnation(1), told, farm.parts.now_ns,
                          farm.parts.actions);
    }
    farm.machine.tick(farm.parts.now_ns, farm.parts.actions);
    REQUIRE(farm.machine.state() == control::State::running);
  }
  void report(std::int64_t at, std::uint64_t stored) {
    v1::Report report;
    report.set_now_ns(at);
    (*report.mutable_counters())["stored"] = stored;
    (*report.mutable_counters())["offered"] = stored + 4;
    (*report.mutable_gauges())["slices_in_flight"] = 4;
    farm.members.reported(farm.member("supervisor"), report);
  }
  void pass(DurationNs by) {
    farm.parts.now_ns += by;
    for (const control::Member& one : farm.machine.members()) farm.runs(one.plan.name, 1);
    health.look(farm.machine, farm.members, farm.parts.now_ns);
  }
  std::vector<control::Finding> findings() const {
    return health.findings(farm.machine, farm.members, {}, farm.parts.now_ns);
  }
  test::SmallFarm farm;
  HealthWatch health{HealthWatch::Begin::anew, kSecond, {}, farm.parts.now_ns};
};

}  // namespace

TEST_CASE("a run is stalled if its supervisor reports slices in flight and none settled") {
  Running run;
  for (int i = 0; i < 60; ++i) {
    run.report(i + 1, 10 + static_cast<std::uint64_t>(i));
    run.pass(kSecond);
  }
  CHECK(run.findings()[0].gravity == control::Gravity::good);
  for (int i = 60; i < 120; ++i) {
    run.report(i + 1, 70);
    run.pass(kSecond);
  }
  CHECK(run.findings()[0].gravity != control::Gravity::good);
}

TEST_CASE("a process's reported hold-up is shown with its reason and its cause") {
  Running run;
  v1::Report report;
  report.set_state("blocked: WRITER_DISK_FULL writer-0 for 3 s");
  run.farm.members.reported(run.farm.member("writer-0"), report);
  const auto findings = run.findings();
  const bool told = std::any_of(findings.begin(), findings.end(), [](const control::Finding& one) {
    return one.word == "blocked" && one.reason.find("writer-0") != std::string::npos;
  });
  CHECK(told);
}

TEST_CASE("missing fragments are losses, unless they never existed or are absent on purpose") {
  Running run;
  std::int64_t at = 0;
  const auto told = [&](const std::string& reason) {
    for (int i = 0; i < 3; ++i) {
      v1::Report report;
      report.set_now_ns(++at);
      (*report.mutable_counters())["stored"] = static_cast<std::uint64_t>(at);
      (*report.mutable_counters())["farm.fragments.missing." + reason] = static_cast<std::uint64_t>(20 * at);
      run.farm.members.reported(run.farm.member("supervisor"), report);
      run.pass(kSecond);
    }
    const auto findings = run.findings();
    return std::any_of(findings.begin(), findings.end(),
                       [](const control::Finding& one) { return one.word == "fragments missing"; });
  };
  for (const std::string reason : {"not_produced", "masked", "removed"}) CHECK_FALSE(told(reason));
  for (const std::string reason : {"deadline", "gap", "source_down"}) CHECK(told(reason));
}
