#include "records_folder.hpp"
#include "weir_catch.hpp"
#include <weir/run_database/run_comparison.hpp>
#include <weir/run_database/run_document.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <string>

namespace weir::run_database {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::RecordsFolder;

struct TwoRuns {
  TwoRuns() {
    records.begin(1, {{"type", "physics"}}, "prescale");
    records.end(1);
    records.write("run-000001-end.json", end_of(1, 1000, 2.5, "good"));
    records.begin(2, {{"type", "laser"}}, "two-step");
    records.end(2);
    records.write("run-000002-end.json", end_of(2, 1005, 5, "faults"));
    REQUIRE(database.update().empty());
  }
  static std::string end_of(int run, int triggered, double rate, const std::string& outcome) {
    return "{\"run\": " + std::to_string(run) + ", \"triggered\": " + std::to_string(triggered) +
           ", \"latency_us\": {\"p99\": " + std::to_string(rate) + ", \"max\": 0}, \"outcome\": \"" +
           outcome +
           "\", \"faults\": [\"dcm-0 died\"], \"files\": [{\"path\": \"a.weir\", \"bytes\": 1000000}, "
           "{\"path\": "
           "\"b.weir.part\", \"bytes\": 500000}], \"ledger\": [{\"name\": \"triggers\", \"left\": \"3\", "
           "\"right\": "
           "\"4\", \"good\": false, \"note\": \"\"}], \"operations\": [{\"at\": \"10:00\", \"what\": "
           "\"paused\"}]}";
  }
  [[nodiscard]] RunRow row(std::uint32_t run) const { return database.run(run).value().value(); }

  RecordsFolder records;
  RunDatabase database{records.path()};
};

TEST_CASE("two runs differ in fields, settings, plugins and numbers") {
  const TwoRuns runs;
  const Comparison comparison = compare(runs.records.path(), runs.row(1), runs.row(2));
  CHECK(comparison.missing.empty());
  const std::string text = to_text(comparison, runs.row(1), runs.row(2), 0.01);
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("run 1 -> run 2\nfields\n") && ContainsSubstring("physics -> laser\n") &&
                       ContainsSubstring("settings\n  filter.plugin") &&
                       ContainsSubstring("  prescale -> two-step\n") &&
                       ContainsSubstring("versions and plugins\n  filter.crc32c") &&
                       ContainsSubstring("00000001 -> 00000002\n") && ContainsSubstring("good -> faults\n") &&
                       ContainsSubstring("(+100 %)") &&
                       ContainsSubstring("1 number differs by less than 1 %: --all shows them\n"));
  CHECK_THAT(text, !ContainsSubstring("run.number") && !ContainsSubstring("farm_file"));
  CHECK_THAT(to_text(comparison, runs.row(1), runs.row(2), 0), ContainsSubstring("1000 -> 1005  (+0.5 %)"));
  const auto all = to_json(comparison).at("differences").as_array();
  CHECK(all.size() == comparison.differences.size());
  CHECK(std::ranges::count_if(all, [](const auto& one) { return one.as_object().contains("change"); }) == 2);
}

TEST_CASE("a run that was not good begins the comparison with its outcome and cause") {
  const TwoRuns runs;
  RunRow right = runs.row(2);
  right.outcome = "failed";
  right.failure = "the disk was full";
  CHECK_THAT(to_text({}, runs.row(1), right, 0),
             Catch::Matchers::Equals("run 1 -> run 2\nrun 2: failed, the disk was full\nno difference\n"));
}

TEST_CASE("a run does not differ from itself") {
  const TwoRuns runs;
  const Comparison comparison = compare(runs.records.path(), runs.row(1), runs.row(1));
  CHECK(comparison.differences.empty());
  CHECK(to_text(comparison, runs.row(1), runs.row(1), 0) == "run 1 -> run 1\nno difference\n");
}

TEST_CASE("records that cannot be read are named, and compared with nothing") {
  const TwoRuns runs;
  std::filesystem::remove(runs.records.path() + "/run-000002-end.json");
  runs.records.write("run-000002-farm.yaml", "[");
  const Comparison comparison = compare(runs.records.path(), runs.row(1), runs.row(2));
  CHECK(comparison.missing.size() == 2);
  for (const Difference& one : comparison.differences)
    CHECK((one.part == ComparedPart::field || one.part == ComparedPart::plugin));
}

TEST_CASE("one run is shown with its annotations, faults, files and records") {
  TwoRuns runs;
  runs.records.annotate(1, {{"quality", "bad"}});
  REQUIRE(runs.database.update().empty());
  const auto document =
      document_of(runs.records.path(), runs.row(1), runs.database.annotations(1).value(), 7);
  CHECK(document.at("good_before") == 7);
  CHECK(document.at("end_record").at("triggered") == 1000);
  CHECK(document.at("records").as_array().size() == 3);
  const std::string text = to_text(document);
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("run 1  small  good\n") &&
                       ContainsSubstring("fields     quality=bad  type=physics\n") &&
                       ContainsSubstring("Z by Ann: quality=bad\n") &&
                       ContainsSubstring("faults     dcm-0 died\n") &&
                       ContainsSubstring("changes    10:00 paused\n") &&
                       ContainsSubstring("WRONG      triggers: 3 / 4") &&
                       ContainsSubstring("files      2 files, 1.50 MB, 1 not closed (.part)\n") &&
                       ContainsSubstring("made of    filter.crc32c 00000001\n") &&
                       ContainsSubstring("run-000001-begin.yaml\n") &&
                       ContainsSubstring("compare    weir runs diff 7 1: with the last good run before\n"));
}

TEST_CASE("a run without an end record has what its begin record says") {
  const RecordsFolder records;
  records.begin(4, {{"type", "laser"}});
  RunDatabase database(records.path());
  REQUIRE(database.update().empty());
  const auto document = document_of(records.path(), database.run(4).value().value(), {}, {});
  CHECK(document.at("end_record").is_null());
  CHECK_THAT(to_text(document),
             ContainsSubstring("run 4  small  open\n") && ContainsSubstring("end        -\n"));
}

}  // namespace
}  // namespace weir::run_database
