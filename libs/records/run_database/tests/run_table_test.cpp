#include "weir_catch.hpp"
#include <weir/run_database/run_table.hpp>

#include <boost/json.hpp>

#include <string>

namespace weir::run_database {
namespace {

using Catch::Matchers::ContainsSubstring;

RunList two_runs() {
  RunRow first;
  first.run = 9;
  first.farm = "small";
  first.begin_utc_ns = 1'772'359'200 * kSecond;
  first.running_ns = 3725 * kSecond;
  first.triggered = 123'456;
  first.outcome = "good";
  first.fields = {{"comment", "a \"b\", c"}, {"hv", "1200"}, {"shifter", "Zoë"}};
  RunRow second;
  second.run = 10;
  second.outcome = "failed";
  second.failure = "the disk was full";
  return {{second, first}, 2, 2};
}

TEST_CASE("the list has a line for each run, the oldest first") {
  const std::string text = to_text(two_runs());
  CHECK(text ==
        "run  begin (UTC)          running  outcome  quality  type  shifter  triggered  stored  comment\n"
        "  9  2026-03-01 10:00:00  1:02:05  good                    Zoë        123 456       0  a \"b\", c; "
        "hv=1200\n"
        " 10                       0:00:00  failed                                   0       0  the disk was "
        "full\n");
}

TEST_CASE("comma-separated values are quoted where needed, and have a column for each field") {
  CHECK(to_csv(two_runs()) ==
        "run,farm,begin,end,running_s,outcome,reason,failure,fault,triggered,stored,rejected,discarded,"
        "comment,hv,"
        "quality,shifter,type\r\n"
        "9,small,2026-03-01T10:00:00.000Z,,3725.000,good,,,,123456,0,0,0,\"a \"\"b\"\", c\",1200,,Zoë,\r\n"
        "10,,,,0.000,failed,,the disk was full,,0,0,0,0,,,,,\r\n");
}

TEST_CASE("the JSON has times in ms, and null where a time is unknown") {
  const auto list = to_json(two_runs());
  CHECK(list.at("matching") == 2);
  const auto& runs = list.at("runs").as_array();
  CHECK(runs.at(0).at("begin").is_null());
  CHECK(runs.at(1).at("begin") == 1'772'359'200'000);
  CHECK(runs.at(1).at("running_s") == 3725.0);
  CHECK(runs.at(1).at("fields").at("hv") == "1200");
}

TEST_CASE("a long comment is cut between characters") {
  RunList list = two_runs();
  std::string comment;
  for (int i = 0; i < 100; ++i) comment += "ë";
  list.runs[0].fields["comment"] = comment;
  CHECK_THAT(to_text(list), ContainsSubstring("  ë") && ContainsSubstring("ë…\n"));
}

}  // namespace
}  // namespace weir::run_database
