#include "records_folder.hpp"
#include "weir_catch.hpp"
#include <weir/run_database/moment.hpp>
#include <weir/run_database/run_database.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weir::run_database {
namespace {

using test::RecordsFolder;

std::vector<std::uint32_t> numbers(const RunDatabase& database, const RunQuery& query = {}) {
  std::vector<std::uint32_t> found;
  const RunList list = database.find(query).value();
  for (const RunRow& row : list.runs) found.push_back(row.run);
  return found;
}

using Numbers = std::vector<std::uint32_t>;

TEST_CASE("the database has what history, begin records and annotations say") {
  const RecordsFolder records;
  records.begin(1, {{"type", "physics"}, {"shifter", "Ann"}, {"comment", "first light"}});
  records.end(1);
  records.begin(2, {{"type", "laser"}});
  records.end(2, "failed", "the disk was full");
  records.annotate(1, {{"quality", "good"}, {"hv", "1200"}});
  records.begin(3);
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  const RunList all = database.find({}).value();
  CHECK(all.all == 3);
  REQUIRE(all.runs.size() == 3);
  CHECK(all.runs[0].run == 3);
  CHECK(all.runs[0].outcome == kOpen);
  CHECK(all.runs[0].begin_utc_ns == RecordsFolder::kFirstBegin + 3 * kSecond);
  CHECK(all.runs[1].failure == "the disk was full");
  const RunRow first = database.run(1).value().value();
  CHECK(first.farm == "small");
  CHECK(first.triggered == 10);
  CHECK(first.stored == 5);
  CHECK(first.running_ns == kSecond);
  CHECK(first.reason == "all triggers made");
  CHECK(first.balanced);
  CHECK(first.fields == run_record::RunFields{{"type", "physics"},
                                              {"shifter", "Ann"},
                                              {"comment", "first light"},
                                              {"quality", "good"},
                                              {"hv", "1200"}});
  const auto said = database.annotations(1).value();
  REQUIRE(said.size() == 1);
  CHECK(said[0].by == "Ann");
  CHECK_FALSE(database.run(4).value());
}

TEST_CASE("queries select by time, outcome, fields and words") {
  const RecordsFolder records;
  for (std::uint32_t run = 1; run <= 6; ++run) {
    records.begin(run, {{"type", run % 2 == 0 ? "laser" : "physics"},
                        {"comment", "HV trip in 100% of row_" + std::to_string(run)}});
    records.end(run, run == 3 ? "unbalanced" : "good");
  }
  records.annotate(5, {{"quality", "bad"}, {"shifter", "Bob"}});
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  const auto at = [](std::uint32_t run) { return RecordsFolder::kFirstBegin + run * kSecond; };
  CHECK(numbers(database, {.since = at(5)}) == Numbers{6, 5});
  CHECK(numbers(database, {.since = at(2), .until = at(4)}) == Numbers{3, 2});
  CHECK(numbers(database, {.outcomes = {"unbalanced", "open"}}) == Numbers{3});
  CHECK(numbers(database, {.type = "LASER"}) == Numbers{6, 4, 2});
  CHECK(numbers(database, {.shifter = "bob", .quality = "bad"}) == Numbers{5});
  CHECK(numbers(database, {.text = "trip hv"}) == Numbers{6, 5, 4, 3, 2, 1});
  CHECK(numbers(database, {.text = "row_4"}) == Numbers{4});
  CHECK(numbers(database, {.text = "rowx4"}).empty());  // _ and % are no wildcards
  CHECK(numbers(database, {.text = "100% row%4"}).empty());
  CHECK(numbers(database, {.text = "'; DROP TABLE runs; --"}).empty());
  const RunList last = database.find({.type = "laser", .limit = 2}).value();
  CHECK(last.runs.size() == 2);
  CHECK(last.runs[0].run == 6);
  CHECK(last.matching == 3);
  CHECK(last.all == 6);
}

TEST_CASE("a run is compared with the last good run before it, of its type if there is one") {
  const RecordsFolder records;
  const char* const types[] = {"laser", "physics", "physics", "laser", "physics", "cosmics"};
  for (std::uint32_t run = 1; run <= 6; ++run) {
    records.begin(run, {{"type", types[run - 1]}});
    records.end(run, run == 5 ? "failed" : "good");
  }
  records.annotate(3, {{"quality", "bad"}});
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  const auto before = [&](std::uint32_t run) {
    return database.good_before(database.run(run).value().value()).value();
  };
  CHECK(before(5) == 2);
  CHECK(before(4) == 1);
  CHECK(before(6) == 4);
  CHECK_FALSE(before(1));
}

TEST_CASE("new records are taken in, from another process' database file too") {
  const RecordsFolder records;
  records.begin(1);
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  CHECK(database.run(1).value()->outcome == kOpen);
  records.end(1);
  records.begin(2, {{"type", "laser"}});
  REQUIRE(database.update().empty());
  CHECK(database.run(1).value()->outcome == "good");
  CHECK(database.run(2).value()->outcome == kOpen);
  records.annotate(2, {{"quality", "bad"}});
  records.annotate(2, {{"quality", "good"}});
  RunDatabase other(records.path());
  REQUIRE(other.update().empty());
  CHECK(other.run(2).value()->fields.at("quality") == "good");
  REQUIRE(database.update().empty());
  CHECK(database.annotations(2).value().size() == 2);
  records.end(2, "no_account");
  records.end(2);  // the account came after all
  REQUIRE(database.update().empty());
  CHECK(database.run(2).value()->outcome == "good");
  CHECK(database.find({}).value().all == 2);
}

TEST_CASE(
    "the file is made anew when it is deleted, damaged, of another version, or its folder was replaced") {
  const RecordsFolder records;
  records.begin(1);
  records.end(1);
  records.annotate(1, {{"quality", "bad"}});
  const std::string file = records.path() + "/runs.sqlite";
  const auto found = [&] {
    RunDatabase database(records.path());
    CHECK(database.update().empty());
    const auto row = database.run(1).value();
    return row && row->outcome == "good" && row->fields.at("quality") == "bad" &&
           database.annotations(1).value().size() == 1;
  };
  CHECK(found());
  std::filesystem::remove(file);
  CHECK(found());
  records.write("runs.sqlite", "this is not a database, whatever its name says, and it is long enough");
  CHECK(found());
  CHECK(found());
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);  // no file can be made there: the records are read into memory
  CHECK(found());
  std::filesystem::remove(file);
  CHECK(found());
  {
    RunDatabase database(records.path());
    REQUIRE(database.update(true).empty());
    std::filesystem::remove(records.path() + "/annotations.jsonl");
    records.annotate(1, {{"quality", "good"}});
    std::filesystem::remove(records.path() + "/runs.jsonl");
    records.end(1, "failed");
    REQUIRE(database.update().empty());
    CHECK(database.run(1).value()->outcome == "failed");
    CHECK(database.annotations(1).value().size() == 1);
  }
}

TEST_CASE("a run without a line in the history is read from its end record") {
  const RecordsFolder records;
  records.begin(7);
  records.write(
      "run-000007-end.json",
      R"({"run": 7, "begin": "2026-03-01T10:00:00.000Z", "end": "2026-03-01T10:00:20.000Z", "running_s": 12.5,
                    "triggered": 100, "stored": 60, "rejected": 30, "discarded": {"drain_timeout": 4, "late": 6},
                    "ledger_balanced": true, "faults": ["dcm-0 died"], "outcome": "faults", "reason": "stop"})");
  records.begin(8);
  records.write("run-000008-end.json", "{\"run\": 8");  // cut
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  const RunRow row = database.run(7).value().value();
  CHECK(row.outcome == "faults");
  CHECK(row.end_utc_ns - row.begin_utc_ns == 20 * kSecond);
  CHECK(row.running_ns == 12'500 * kMillisecond);
  CHECK(row.discarded == 10);
  CHECK(row.fault == "dcm-0 died");
  CHECK(database.run(8).value()->outcome == kOpen);
}

TEST_CASE("lines and records that cannot be read are counted, a line that is being written is waited for") {
  const RecordsFolder records;
  records.begin(1);
  records.end(1);
  records.write("run-000002-begin.yaml", "run: [");
  std::ofstream(records.path() + "/runs.jsonl", std::ios::app) << "{\"run\": 2, \"outc\n{\"run\": 3, \"out";
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  CHECK(database.unreadable() == 2);
  CHECK(numbers(database) == Numbers{2, 1});
  std::ofstream(records.path() + "/runs.jsonl", std::ios::app) << "come\": \"good\", \"balanced\": true}\n";
  REQUIRE(database.update().empty());
  CHECK(database.run(3).value()->outcome == "good");
}

TEST_CASE("a folder that does not exist is an error, an empty one has no runs") {
  RunDatabase none("/nonexistent/folder");
  CHECK(none.update() == "'/nonexistent/folder' is not a folder");
  const RecordsFolder records;
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  CHECK(database.find({}).value().all == 0);
}

TEST_CASE("moments are dates, times, or ages") {
  const UtcNs now = 1'800'000'000 * kSecond;
  const UtcNs day = 1'772'323'200 * kSecond;  // 2026-03-01
  CHECK(read_moment("2026-03-01", now) == day);
  CHECK(read_moment("2026-03-01Z", now) == day);
  CHECK(read_moment("2026-03-01 10:30", now) == day + 37'800 * kSecond);
  CHECK(read_moment("2026-03-01T10:30:01.500Z", now) == day + 37'801 * kSecond + kSecond / 2);
  CHECK(read_moment("90s", now) == now - 90 * kSecond);
  CHECK(read_moment("30m", now) == now - 1800 * kSecond);
  CHECK(read_moment("12h", now) == now - 43'200 * kSecond);
  CHECK(read_moment("7d", now) == now - 604'800 * kSecond);
  for (const char* text : {"", "d", "7", "7w", "-1d", "yesterday", "2026-13-01", "2026-03-01 25:00",
                           "2026-03-01 10", "2026-03-01x", "99999999999d", "200000d"})
    CHECK_FALSE(read_moment(text, now));
}

}  // namespace
}  // namespace weir::run_database
