#include "../src/health_watch.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"
#include <weir/reports/filter_failures.hpp>

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

TEST_CASE("a filter's failures are found in the reports of its DCM, and end with the run") {
  Running run;
  std::uint64_t filtered = 0;
  const auto second = [&](std::uint64_t errors) {
    v1::Report report;
    report.set_now_ns(static_cast<std::int64_t>(filtered) + 1);
    (*report.mutable_counters())["dcm.filtered"] = filtered += 100;
    (*report.mutable_counters())["dcm.filter_errors"] = errors;
    reports::note_filter_now(report, "KeyError: 'x' (my_filter.py:31)", "");
    run.farm.members.reported(run.farm.member("dcm-0"), report);
    run.report(static_cast<std::int64_t>(filtered), filtered);
    run.pass(kSecond);
  };
  for (std::uint64_t i = 0; i < 12; ++i) second(50 * i);
  CHECK(run.findings()[0] ==
        control::Finding{
            control::Gravity::error, "filter fails",
            "50 % of the slices of the last 10 s went unfiltered (500 of 1000): dcm-0: KeyError: 'x' "
            "(my_filter.py:31)"});
  run.health.set_error_share_max(0.6);
  CHECK(run.findings()[0].gravity == control::Gravity::warning);
  // An empty report of the next run is not one of a new process.
  run.farm.members.forget_reports();
  run.pass(kSecond);
  for (std::uint64_t i = 0; i < 12; ++i) second(550);
  CHECK(run.findings()[0].gravity == control::Gravity::good);
}

TEST_CASE("a slice that a filter holds is named with the time since then") {
  Running run;
  v1::Report report;
  reports::note_filter_now(report, "", "150");
  (*report.mutable_gauges())["filter.oldest_s"] = 42.5;
  run.farm.members.reported(run.farm.member("dcm-0"), report);
  CHECK_THAT(run.findings()[0].reason, Catch::ContainsSubstring("holds slice 150"));
}

TEST_CASE("triggers refused for their number are found, and do not count as triggers") {
  Running run;
  for (std::uint64_t i = 0; i < 12; ++i) {
    v1::Report report;
    report.set_now_ns(static_cast<std::int64_t>(i) + 1);
    (*report.mutable_counters())["offered"] = 100 + 40 * i;
    (*report.mutable_counters())["stored"] = 100;
    if (i > 0) (*report.mutable_counters())["vetoed.duplicate_id"] = 40 * i;
    run.farm.members.reported(run.farm.member("supervisor"), report);
    run.pass(kSecond);
  }
  const auto findings = run.findings();
  CHECK_THAT(control::sentence(findings[0]), Catch::ContainsSubstring("triggers refused: 400 of 400"));
  CHECK(findings[0].gravity == control::Gravity::error);
  CHECK(findings.at(1).word == "no triggers");
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
