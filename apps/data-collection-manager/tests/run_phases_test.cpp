// The phases of a DCM's run, its status, and its reports of unreachable nodes.
#include "../src/run_phases.hpp"

#include "../src/reach_reporter.hpp"
#include "../src/status.hpp"
#include "one_way.hpp"
#include "weir_catch.hpp"
#include <weir/base/held_up.hpp>

namespace weir::dcm {
namespace {

using slice_rows::HoldReason;

constexpr DurationNs kPatience = 2 * kSecond;

v1::Reach lost(std::initializer_list<std::uint32_t> readouts,
               std::initializer_list<std::uint32_t> writers = {}) {
  v1::Reach reach;
  for (const std::uint32_t readout : readouts) reach.add_readouts(readout);
  for (const std::uint32_t writer : writers) reach.add_writers(writer);
  return reach;
}

Workload some_load() {
  Workload load;
  load.units = 4;
  load.credits = 40;
  load.bytes_total = 800;
  return load;
}

}  // namespace

TEST_CASE(
    "a run's phases follow each other in the table's order alone, each is reached, and the last is over") {
  test::check_one_way(kRunTransitions, DcmPhase::ready, DcmPhase::over, kRunPhases);
  CHECK_FALSE(kRunTransitions.allow(DcmPhase::ready, DcmPhase::over));
  CHECK_FALSE(kRunTransitions.allow(DcmPhase::running, DcmPhase::over));
  CHECK_FALSE(kRunTransitions.allow(DcmPhase::running, DcmPhase::running));
}

TEST_CASE("a DCM that is told to end waits for pending work, but not forever") {
  RunPhases course;
  CHECK_FALSE(course.has_begun());
  course.begin();
  CHECK(course.is_running());
  CHECK_FALSE(course.may_report_finally(true, 10 * kSecond));
  course.end(10 * kSecond);
  CHECK(course.has_begun());
  CHECK(course.is_ending());
  CHECK_FALSE(course.is_running());
  CHECK_FALSE(course.may_report_finally(false, 10 * kSecond + RunPhases::kEndPatience - 1));
  CHECK(course.may_report_finally(true, 10 * kSecond));
  CHECK(course.may_report_finally(false, 10 * kSecond + RunPhases::kEndPatience));
  course.close();
  CHECK(course.phase() == DcmPhase::over);
  CHECK(course.is_ending());
}

TEST_CASE("a DCM that is told to end before its run has begun has no run to close, until it begins") {
  RunPhases course;
  course.end(kSecond);
  CHECK(course.phase() == DcmPhase::told_early);
  CHECK_FALSE(course.has_begun());
  CHECK(course.may_report_finally(true, kSecond));
  course.begin();
  CHECK(course.phase() == DcmPhase::ending);
}

TEST_CASE(
    "a status names the cause of withheld credits: the writer before the filter, the filter before the "
    "memory") {
  Workload load = some_load();
  CHECK(what_holds_up(load) == HoldReason::none);
  load.bytes_used = 700;
  CHECK(what_holds_up(load) == HoldReason::dcm_buffer_full);
  load.bytes_used = 699;
  CHECK(what_holds_up(load) == HoldReason::none);
  load.bytes_used = 800;
  load.with_filter = 29;  // of 40 credits
  CHECK(what_holds_up(load) == HoldReason::dcm_buffer_full);
  load.with_filter = 30;
  CHECK(what_holds_up(load) == HoldReason::filter_too_slow);
  load.units = 30;  // each unit has one, and none waits
  CHECK(what_holds_up(load) == HoldReason::dcm_buffer_full);
  load.held_back = 1;
  CHECK(what_holds_up(load) == HoldReason::writer_too_slow);
}

TEST_CASE("a status is that of the run's phase, and during the run its hold-up") {
  RunPhases course;
  Workload load = some_load();
  load.held_back = 1;
  CHECK(status_of(course, load, "dcm-3") == "ready");
  course.begin();
  CHECK(status_of(course, load, "dcm-3") ==
        held_up_state(Hold::blocked, slice_rows::name(HoldReason::writer_too_slow), "dcm-3"));
  CHECK(status_of(course, some_load(), "dcm-3") == "running");
  course.end(0);
  CHECK(status_of(course, load, "dcm-3") == "ending");
}

TEST_CASE("the supervisor is informed of unreachable nodes when they change, and not again") {
  ReachReporter teller(kPatience);
  teller.met(kSecond);
  CHECK(teller.is_news(lost({}), kSecond));
  CHECK_FALSE(teller.is_news(lost({}), 2 * kSecond));
  CHECK(teller.is_news(lost({1}), 2 * kSecond));
  CHECK_FALSE(teller.is_news(lost({1}), 3 * kSecond));
  CHECK(teller.is_news(lost({1}, {0}), 3 * kSecond));
  CHECK(teller.is_news(lost({2}, {0}), 3 * kSecond));
}

TEST_CASE("at the beginning an unreached readout may be connecting; a lost writer is reported immediately") {
  ReachReporter teller(kPatience);
  teller.met(kSecond);
  teller.run_begun(2 * kSecond);
  CHECK_FALSE(teller.is_news(lost({1}), 2 * kSecond + kPatience - 1));
  CHECK(teller.is_news(lost({1}), 2 * kSecond + kPatience));
  teller.met(60 * kSecond);
  CHECK(teller.is_news(lost({}, {0}), 60 * kSecond));
  CHECK(teller.is_news(lost({1}, {0}), 60 * kSecond));  // the supervisor has received the report
}

TEST_CASE("a new supervisor receives all reports again, and judges afresh") {
  ReachReporter teller(kPatience);
  teller.met(0);
  REQUIRE(teller.is_news(lost({}, {0}), 0));
  teller.judge(true);
  CHECK(teller.is_cut_off());
  teller.lost();
  CHECK_FALSE(teller.is_cut_off());
  teller.met(kSecond);
  CHECK(teller.is_news(lost({}, {0}), kSecond));
}

}  // namespace weir::dcm
