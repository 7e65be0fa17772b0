// The stages of a run, and the conversion of nodes' messages for the machine.
#include "../src/messages_in.hpp"
#include "../src/run_stages.hpp"
#include "one_way.hpp"
#include "weir_catch.hpp"
#include <weir/node/columns.hpp>

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

TEST_CASE("decisions are converted to rows with their reasons, unless the columns do not match") {
  v1::Decide decide;
  std::vector<assignment::AttemptDecision> rows(9);
  for (const std::uint64_t id : {4U, 5U, 6U, 7U}) decide.add_slice(id);
  for (const v1::Verdict verdict : {v1::VERDICT_ACCEPT_INCOMPLETE, v1::VERDICT_FAILED, v1::VERDICT_HELD})
    node::add(*decide.mutable_verdict(), verdict);
  CHECK_FALSE(take_decisions(decide, rows).has_value());
  node::add(*decide.mutable_verdict(), v1::VERDICT_FAILED);
  v1::Decide::Failure& failure = *decide.add_failures();
  failure.set_index(3);
  failure.set_reason(std::string(slice_rows::name(slice_rows::DiscardReason::writer_refused)));
  decide.add_failures()->set_index(77);  // there is no such row
  REQUIRE(take_decisions(decide, rows).has_value());
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].verdict == slice_rows::Verdict::accept);
  CHECK(rows[0].incomplete);
  CHECK(rows[0].attempt == Attempt(0));
  CHECK(rows[1].verdict == slice_rows::Verdict::failed);
  CHECK(rows[1].reason == slice_rows::DiscardReason::unspecified);
  CHECK(rows[2].verdict == slice_rows::Verdict::held);
  CHECK(rows[3].reason == slice_rows::DiscardReason::writer_refused);
  decide.add_attempt(1);
  CHECK_FALSE(take_decisions(decide, rows).has_value());
}

TEST_CASE("a verdict byte that no version defines refuses the message, and rejects no slice") {
  for (int verdict = 0; verdict < 256; ++verdict) {
    CAPTURE(verdict);
    v1::Decide decide;
    decide.add_slice(4);
    decide.add_slice(5);
    node::add(*decide.mutable_verdict(), v1::VERDICT_ACCEPT);
    node::add(*decide.mutable_verdict(), verdict);
    std::vector<assignment::AttemptDecision> rows;
    if (verdict == v1::VERDICT_FORWARD) {
      CHECK_FALSE(take_decisions(decide, rows).has_value());  // where to?
      v1::Decide::Forward& forward = *decide.add_forwards();
      forward.set_index(1);
      forward.set_group(3);
    }
    const auto taken = take_decisions(decide, rows);
    CHECK(taken.has_value() == v1::Verdict_IsValid(verdict));
    if (!taken) CHECK(taken.error() == wire::WireError::bad_payload);
  }
}

TEST_CASE("unreachable nodes are listed once, in order, without nodes that the farm does not have") {
  v1::Reach reach;
  for (const std::uint32_t index : {2U, 0U, 2U}) reach.add_readouts(index);
  CHECK(lost_of(reach.readouts(), 3).value() == std::vector<NodeIndex>{NodeIndex(0), NodeIndex(2)});
  CHECK_FALSE(lost_of(reach.readouts(), 2).has_value());
}

TEST_CASE("slices long in a filter have an attempt each, and a suspect may be alone") {
  v1::Filtering filtering;
  filtering.add_slice(5);
  CHECK_FALSE(filter_note_of(filtering).has_value());
  filtering.add_attempt(1);
  CHECK_FALSE(filter_note_of(filtering).value().alone);
  filtering.set_alone(6);
  filtering.set_alone_attempt(2);
  const auto note = filter_note_of(filtering).value();
  CHECK(note.for_long == std::vector<assignment::Lease>{{SliceId(5), Attempt(1)}});
  CHECK(note.alone == assignment::Lease{SliceId(6), Attempt(2)});
}

}  // namespace weir::supervisor
