#include "../src/run_book.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::RunOver over(std::uint32_t run) {
  v1::RunOver over;
  over.set_run(run);
  over.mutable_summary()->set_run(run);
  over.mutable_summary()->set_balanced(true);
  over.mutable_summary()->set_begin_utc_ns(run);
  over.mutable_summary()->set_reason("all triggers made");
  return over;
}

}  // namespace

TEST_CASE("a run has a unique number, the next one or the requested one") {
  test::SmallFarm farm;
  CHECK(farm.book.claim(RunNumber(0), RunNumber(4), "small", RunNumber(1)) == RunNumber(5));
  CHECK(farm.book.claim_of(RunNumber(5)) != 0);
  CHECK(farm.book.claim(RunNumber(0), RunNumber(4), "small", RunNumber(1)) == RunNumber(6));  // 5 is claimed
  const auto taken = farm.book.claim(RunNumber(5), RunNumber(6), "small", RunNumber(1));
  REQUIRE_FALSE(taken);
  CHECK_THAT(taken.error(), ContainsSubstring("run 5"));
  CHECK(farm.book.claim(RunNumber(9), RunNumber(6), "small", RunNumber(1)) == RunNumber(9));
  farm.book.give_up(RunNumber(9));
  CHECK(farm.book.claim_of(RunNumber(9)) == 0);
  CHECK_FALSE(farm.book.claim(RunNumber(0), RunNumber(4'294'967'295), "small", RunNumber(1)));
}

TEST_CASE("the starter of a farm for one run gives it a number, and keeps its records") {
  test::SmallFarm farm(RunBook::Keeper::starter);
  CHECK(farm.book.claim(RunNumber(3), RunNumber(0), "small", RunNumber(1)) == RunNumber(3));
  CHECK(farm.book.claim_of(RunNumber(3)) == 0);
  CHECK_FALSE(farm.book.claim(RunNumber(0), RunNumber(0), "small", RunNumber(1)));
  CHECK_FALSE(farm.book.claim(RunNumber(4), RunNumber(3), "small", RunNumber(1)));
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  CHECK(farm.book.end(over(3), "small").empty());
  CHECK(farm.book.runs().size() == 1);
  REQUIRE(farm.book.account() != nullptr);
  CHECK(farm.book.account()->run() == 3);
  const auto last = farm.book.last_run(RunNumber(3));
  REQUIRE(last);
  CHECK(last->accounted);
  CHECK(std::distance(std::filesystem::directory_iterator(farm.folder.path()), {}) == 1);  // the farm file
}

TEST_CASE("a run's records are written at its begin and its end, and its end counts once") {
  test::SmallFarm farm;
  CHECK(farm.book.begin_utc() == 0);
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  CHECK(farm.book.begin_utc() > 0);
  CHECK(std::filesystem::exists(farm.folder.path() / "run-000003-begin.yaml"));
  CHECK_FALSE(farm.book.knows(over(3)));
  const auto events = farm.book.end(over(3), "small");
  REQUIRE(events.size() == 1);
  CHECK(events[0].level == control::Level::info);
  CHECK_THAT(events[0].text, ContainsSubstring("run 3 is over: all triggers made"));
  CHECK(std::filesystem::exists(farm.folder.path() / "run-000003-end.json"));
  CHECK(farm.book.knows(over(3)));
  CHECK(RunBook(farm.folder.path(), RunBook::Keeper::self).knows(over(3)));
}

TEST_CASE("the end of a run without faults names the incomplete slices among the stored ones") {
  test::SmallFarm farm;
  CHECK_THAT(farm.book.end(over(1), "small").at(0).text, !ContainsSubstring("incomplete"));
  v1::RunOver some = over(2);
  (*some.mutable_summary()->mutable_counters())["stored"] = 683;
  (*some.mutable_summary()->mutable_counters())["stored_incomplete"] = 34;
  const auto events = farm.book.end(some, "small");
  CHECK(events.at(0).level == control::Level::info);
  CHECK_THAT(events.at(0).text, ContainsSubstring(", 683 stored (34 of them incomplete), 0 rejected, "));
}

TEST_CASE("a run's record has the exit status that `weir run` would have had") {
  test::SmallFarm farm;
  const auto record_of = [&](std::uint32_t run) {
    std::ifstream file(farm.folder.path() / ("run-00000" + std::to_string(run) + "-end.json"));
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  (void)farm.book.end(over(1), "small");
  CHECK_THAT(record_of(1), ContainsSubstring("\"exit_status\": 0") &&
                               ContainsSubstring("\"outcome\": \"good\"") &&
                               ContainsSubstring("\"failure\": \"\""));
  v1::RunOver survived = over(2);
  survived.mutable_summary()->add_faults_text("dcm-0 was lost");
  (void)farm.book.end(survived, "small");
  CHECK_THAT(record_of(2), ContainsSubstring("\"exit_status\": 3") &&
                               ContainsSubstring("\"outcome\": \"faults\"") &&
                               ContainsSubstring("\"failure\": \"\""));
  v1::RunOver unbalanced = over(3);
  unbalanced.mutable_summary()->set_balanced(false);
  (void)farm.book.end(unbalanced, "small");
  CHECK_THAT(record_of(3), ContainsSubstring("\"exit_status\": 1") &&
                               ContainsSubstring("\"failure\": \"the ledger does not balance\""));
  v1::RunOver failed = over(4);
  failed.set_failure("no writer is left");
  (void)farm.book.end(failed, "small");
  CHECK_THAT(record_of(4),
             ContainsSubstring("\"exit_status\": 1") && ContainsSubstring("\"outcome\": \"failed\""));
  CHECK(farm.book.last_run(RunNumber(4))->failure == "no writer is left");
}

TEST_CASE("the result of the last run is that of its account, or unknown") {
  test::SmallFarm farm;
  CHECK_FALSE(farm.book.last_run(RunNumber(0)));
  CHECK_FALSE(farm.book.last_run(RunNumber(2))->accounted);
  v1::RunOver bad = over(2);
  bad.mutable_summary()->set_balanced(false);
  bad.mutable_summary()->add_faults_text("dcm-0 left");
  CHECK(farm.book.end(bad, "small").back().level == control::Level::error);
  const auto last = farm.book.last_run(RunNumber(2));
  REQUIRE(last);
  CHECK(last->accounted);
  CHECK_FALSE(last->balanced);
  CHECK(last->fault == "dcm-0 left");
  v1::RunOver none;
  none.set_run(4);
  none.set_failure("the disk is gone");
  CHECK_THAT(farm.book.end(none, "small")[0].text, ContainsSubstring("the disk is gone"));
  CHECK(farm.book.account() == nullptr);
}

TEST_CASE("a process that could take no part in a run is listed once in the run's faults") {
  test::SmallFarm farm;
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  farm.book.note_fault("dcm-0 took no part: another filter");
  farm.book.note_fault("dcm-0 took no part: another filter");
  (void)farm.book.end(over(3), "small");
  const auto last = farm.book.last_run(RunNumber(3));
  REQUIRE(last);
  CHECK(last->faults);
  CHECK(last->balanced);
  REQUIRE(farm.book.account()->faults_text_size() == 1);
  CHECK(farm.book.account()->faults_text(0) == "dcm-0 took no part: another filter");
  CHECK(farm.book.begin(RunNumber(4), farm.setup.of_run(RunNumber(4)), {}).empty());
  CHECK(farm.book.faults().empty());
}

TEST_CASE("causes precede consequences in a run's sentence, record, history and headline") {
  const auto keeper = GENERATE(RunBook::Keeper::self, RunBook::Keeper::starter);
  test::SmallFarm farm(keeper);
  (void)farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {});
  farm.book.note_fault("dcm-0 died in the run: signal 11");
  farm.book.note_fault("dcm-1 took no part: another filter");
  farm.book.note_leading_fault("no writer was left at the end: writer-0 removed by mark");
  v1::RunOver faulty = over(3);
  faulty.mutable_summary()->add_faults_text("dcm-1 stalled: 1 slice taken from it (64 times)");
  faulty.mutable_summary()->add_faults_text("source 3: 1340 of 1993 requested fragments are missing");
  const auto events = farm.book.end(faulty, "small");
  const auto& texts = farm.book.account()->faults_text();
  CHECK(std::vector<std::string>(texts.begin(), texts.end()) ==
        std::vector<std::string>{"no writer was left at the end: writer-0 removed by mark",
                                 "dcm-0 died in the run: signal 11", "dcm-1 took no part: another filter",
                                 "dcm-1 stalled: 1 slice taken from it (64 times)",
                                 "source 3: 1340 of 1993 requested fragments are missing"});
  REQUIRE(farm.book.runs().size() == 1);
  CHECK(farm.book.runs()[0].fault() == texts[0]);
  CHECK(farm.book.runs()[0].fault_count() == 5);
  CHECK(farm.book.last_run(RunNumber(3))->fault == texts[0]);
  if (keeper == RunBook::Keeper::starter) return;
  CHECK_THAT(events.back().text, ContainsSubstring("; 5 faults, first: " + texts[0]));
  std::ifstream file(farm.folder.path() / "run-000003-end.json");
  const std::string record{std::istreambuf_iterator<char>(file), {}};
  CHECK(record.find(texts[1]) < record.find(texts[3]));
  CHECK(RunBook(farm.folder.path(), keeper).last_run(RunNumber(3))->fault == texts[0]);
}

TEST_CASE("a run without an account has the deaths that run control saw in its record") {
  test::SmallFarm farm;
  (void)farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {});
  farm.book.note_fault("supervisor died in the run: signal 11");
  (void)farm.book.lose({RunNumber(3), true, "it was reset"}, {}, "small");
  REQUIRE(farm.book.runs().size() == 1);
  CHECK(farm.book.runs()[0].outcome() == run_record::outcome::kNoAccount);
  CHECK(farm.book.runs()[0].fault() == "supervisor died in the run: signal 11");
}

TEST_CASE("a run without an account has its switches in its record, and their lost frames among its faults") {
  test::SmallFarm farm;
  (void)farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {});
  v1::SwitchAccount daq;
  daq.set_name("daq");
  daq.set_host("sw-1");
  (*daq.mutable_dropped())["refused"] = 4;
  (void)farm.book.lose({RunNumber(3), true, "it was reset"}, {}, "small", {daq});
  std::ifstream file(farm.folder.path() / "run-000003-end.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK_THAT(text, ContainsSubstring("\"host\": \"sw-1\"") &&
                       ContainsSubstring("switch daq dropped 4 frames for lack of room: refused 4"));
}

TEST_CASE("a late process's new part is added to the run's record, and a differing one is not") {
  test::SmallFarm farm;
  const config::PlannedFarm of_run = farm.setup.of_run(RunNumber(3));
  v1::RunIdentity filter;
  filter.add_parts()->set_kind("filter plugin");
  filter.mutable_parts(0)->set_crc32c(0xabcd);
  CHECK(farm.book.begin(RunNumber(3), of_run, filter).empty());
  v1::RunIdentity more = filter;
  more.mutable_parts(0)->set_crc32c(0xdddd);
  more.add_parts()->set_kind("source plugin");
  more.mutable_parts(1)->set_crc32c(0x1234);
  CHECK(farm.book.learn(more, RunNumber(3), of_run).empty());
  std::ifstream file(farm.folder.path() / "run-000003-begin.yaml");
  const std::string record{std::istreambuf_iterator<char>(file), {}};
  CHECK_THAT(record, ContainsSubstring("0000abcd") && ContainsSubstring("00001234"));
  CHECK_THAT(record, !ContainsSubstring("0000dddd"));
}

TEST_CASE("a folder that cannot be made is named") {
  CHECK_THROWS_WITH(RunBook("/proc/nowhere", RunBook::Keeper::self), ContainsSubstring("/proc/nowhere"));
}

TEST_CASE(
    "a run without an account has its entry with the last reported counts, and a late account replaces it") {
  test::SmallFarm farm;
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  CHECK(farm.book.open() == RunNumber(3));
  v1::Report report;
  report.set_name("supervisor");
  report.set_role(v1::ROLE_SUPERVISOR);
  (*report.mutable_counters())["triggered"] = 12;
  (*report.mutable_counters())["stored"] = 7;
  const auto events = farm.book.lose({RunNumber(3), true, "it was reset"}, {report}, "small");
  REQUIRE(events.size() == 1);
  CHECK(events[0].text == "run 3 ends without an account: it was reset");
  CHECK_FALSE(farm.book.open());
  REQUIRE(farm.book.runs().size() == 1);
  CHECK(farm.book.runs()[0].outcome() == run_record::outcome::kNoAccount);
  CHECK(farm.book.runs()[0].triggered() == 12);
  CHECK(farm.book.runs()[0].stored() == 7);
  CHECK(std::filesystem::exists(farm.folder.path() / "run-000003-end.json"));
  CHECK(farm.book.lose({RunNumber(3), true, "again"}, {}, "small").empty());
  const auto last = farm.book.last_run(RunNumber(3));
  REQUIRE(last);
  CHECK_FALSE(last->accounted);
  CHECK(last->was_reset);

  CHECK_FALSE(farm.book.knows(over(3)));
  (void)farm.book.end(over(3), "small");
  REQUIRE(farm.book.runs().size() == 1);
  CHECK(farm.book.runs()[0].outcome() == run_record::outcome::kGood);
  const RunBook again(farm.folder.path(), RunBook::Keeper::self);
  REQUIRE(again.runs().size() == 1);
  CHECK(again.runs()[0].outcome() == run_record::outcome::kGood);
}

TEST_CASE("a run that never began has its entry, with the reason") {
  test::SmallFarm farm;
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  v1::RunOver none;
  none.set_run(3);
  none.set_failure("the run cannot begin: no connection from dcm-0");
  CHECK_FALSE(farm.book.knows(none));
  (void)farm.book.end(none, "small");
  REQUIRE(farm.book.runs().size() == 1);
  CHECK(farm.book.runs()[0].outcome() == run_record::outcome::kNeverBegan);
  CHECK(farm.book.runs()[0].reason() == none.failure());
  CHECK_FALSE(farm.book.last_run(RunNumber(3))->began);
  CHECK(farm.book.knows(none));
}

TEST_CASE("slices that the stop discarded are in the entry and in the event") {
  test::SmallFarm farm;
  v1::RunOver cut = over(3);
  (*cut.mutable_summary()->mutable_counters())["discarded.drain_timeout"] = 40;
  const auto events = farm.book.end(cut, "small");
  REQUIRE(events.size() == 1);
  CHECK(events[0].level == control::Level::warning);
  CHECK_THAT(events[0].text, ContainsSubstring("40 of them at the stop (drain_timeout)"));
  CHECK(farm.book.runs()[0].discarded_at_stop() == 40);
  CHECK(farm.book.last_run(RunNumber(3))->discarded_at_stop == 40);
}

TEST_CASE("changes of the farm during a run are in its record") {
  test::SmallFarm farm;
  farm.book.note_operation("before any run");
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  farm.book.note_operation("readout-1 removed");
  (void)farm.book.end(over(3), "small");
  std::ifstream file(farm.folder.path() / "run-000003-end.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK_THAT(text, ContainsSubstring("readout-1 removed"));
  CHECK_THAT(text, !ContainsSubstring("before any run"));
}

TEST_CASE("a restarted run control remembers a run without an entry") {
  test::SmallFarm farm;
  (void)farm.book.end(over(3), "small");
  farm.book.recall(RunNumber(3), 3);
  CHECK_FALSE(farm.book.open());
  farm.book.recall(RunNumber(4), 4);
  CHECK(farm.book.open() == RunNumber(4));
}

TEST_CASE("a run without an account is overdue after a while, or when all processes are gone") {
  test::SmallFarm farm;
  CHECK_FALSE(farm.book.take_overdue(false, true, kSecond));  // no run was begun
  CHECK(farm.book.begin(RunNumber(3), farm.setup.of_run(RunNumber(3)), {}).empty());
  CHECK_FALSE(farm.book.take_overdue(true, true, kSecond));
  CHECK_FALSE(farm.book.take_overdue(false, false, 2 * kSecond));
  SECTION("after a while") {
    const TimeNs until = 2 * kSecond + RunBook::kAccountPatience;
    CHECK_FALSE(farm.book.take_overdue(false, false, until - 1));
    CHECK(farm.book.take_overdue(false, false, until) == RunNumber(3));
    CHECK_FALSE(farm.book.take_overdue(false, false, until));
  }
  SECTION("all processes are gone") {
    CHECK(farm.book.take_overdue(false, true, 3 * kSecond) == RunNumber(3));
  }
  SECTION("unless the account arrives") {
    CHECK_FALSE(farm.book.end(over(3), "small").empty());
    CHECK_FALSE(farm.book.take_overdue(false, true, 100 * kSecond));
  }
}
