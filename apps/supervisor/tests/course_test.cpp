// The stages of a run, and the conversion of nodes' messages for the machine.
#include "../src/run_stages.hpp"
#include "broken_invariant.hpp"
#include "one_way.hpp"
#include "weir_catch.hpp"

namespace weir::supervisor {
namespace {

constexpr TimeNs kStart = 100 * kSecond;
constexpr DurationNs kGather = 30 * kSecond;

}  // namespace

TEST_CASE(
    "a run's stages follow each other in the table's order alone, each is reached, and the last is done") {
  test::check_one_way(kRunTransitions, RunStage::gathering, RunStage::done, kRunStages);
  CHECK_FALSE(kRunTransitions.allow(RunStage::running, RunStage::running));
  CHECK_FALSE(
      kRunTransitions.allow(RunStage::running, RunStage::reporting));  // slices in flight are completed
  CHECK_FALSE(kRunTransitions.allow(RunStage::running, RunStage::done));
  CHECK_FALSE(kRunTransitions.allow(RunStage::draining, RunStage::done));
}

TEST_CASE("a run gathers, runs, drains, reports and has its account, each with a time limit") {
  RunStages course(kStart, kGather);
  CHECK_FALSE(course.has_begun());
  CHECK_FALSE(course.gathers_no_longer(kStart + kGather - 1));
  CHECK(course.gathers_no_longer(kStart + kGather));
  course.begin(kStart + kSecond, 7);
  CHECK(course.is_on());
  CHECK(course.begun_ns() == kStart + kSecond);
  CHECK(course.begun_utc_ns() == 7);
  course.drain("all triggers made", 0);
  CHECK(course.is_on());
  CHECK(course.reason() == "all triggers made");
  course.report(2 * kStart);
  CHECK_FALSE(course.is_on());
  CHECK(course.is_ending());
  CHECK(course.waits_for_absent(2 * kStart + kAbsentPatience - 1));
  CHECK_FALSE(course.waits_for_absent(2 * kStart + kAbsentPatience));
  CHECK(course.waits_for_reports(2 * kStart + kReportPatience - 1));
  CHECK_FALSE(course.waits_for_reports(2 * kStart + kReportPatience));
  CHECK(course.shown() == "reporting");
  course.account();
  CHECK(course.is_ending());
  CHECK(course.shown() == "reporting");  // the name that watchers have always received
  course.end();
  CHECK(course.is(RunStage::done));
  CHECK(course.failure().empty());
}

TEST_CASE("final reports are awaited until the account is due, and a limit only shortens that") {
  RunStages course(kStart, 5 * kSecond);
  CHECK(course.gathers_no_longer(kStart + 5 * kSecond));
  course.begin(kStart, 0);
  course.drain("stopped", 0);
  course.limit_reports(kStart + 10 * kSecond);
  course.limit_reports(kStart + 20 * kSecond);
  course.report(kStart + kSecond);
  CHECK(course.waits_for_reports(kStart + 10 * kSecond - 1));
  CHECK_FALSE(course.waits_for_reports(kStart + 10 * kSecond));
}

TEST_CASE("a run that cannot begin is done, with the reason") {
  RunStages course(kStart, kGather);
  course.fail("no connection from dcm-0");
  CHECK(course.is(RunStage::done));
  CHECK(course.failure() == "no connection from dcm-0");
  CHECK(course.shown() == "done");
}

TEST_CASE("a run that another process resumes began when it first began, and ends if it was ending") {
  RunStages running(kStart, kGather);
  running.resume(kStart, 7, 10 * kSecond);
  CHECK(running.is(RunStage::running));
  CHECK(running.begun_ns() == kStart - 10 * kSecond);
  CHECK(running.begun_utc_ns() == 7);
  CHECK(running.duration_ns() == 10 * kSecond);
  running.drain("stopped", 9 * kSecond);
  CHECK(running.running_ns() == 9 * kSecond);
  RunStages ending(kStart, kGather);
  ending.resume_reporting(kStart, 7, 10 * kSecond, "stopped", 8 * kSecond);
  CHECK(ending.running_ns() == 8 * kSecond);
  CHECK(ending.is(RunStage::reporting));
  CHECK(ending.reason() == "stopped");
  CHECK(ending.waits_for_reports(kStart + kReportPatience - 1));
  CHECK(ending.begun_ns() == kStart - 10 * kSecond);
}

TEST_CASE("a run lasts from its first trigger to the last slice that was settled") {
  RunStages course(kStart, kGather);
  course.begin(kStart, 0);
  CHECK_FALSE(course.has_triggered());
  course.settled(kStart + kSecond);
  CHECK(course.duration_ns() == 0);
  course.triggered(kStart + 2 * kSecond);
  CHECK(course.duration_ns() == 0);
  course.triggered(kStart + 3 * kSecond);
  course.settled(kStart + 7 * kSecond);
  CHECK(course.duration_ns() == 5 * kSecond);
}

TEST_CASE("a run does not begin twice") {
  const auto broken = [] {
    RunStages stages(kSecond, kSecond);
    stages.begin(kSecond, 0);
    stages.begin(kSecond, 0);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: kRunTransitions.allow(stage_, to)"));
}

}  // namespace weir::supervisor
