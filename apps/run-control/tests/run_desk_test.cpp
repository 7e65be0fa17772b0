#include "../src/run_desk.hpp"

#include "small_farm.hpp"
#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

TEST_CASE("the page finds runs, shows one, and compares two") {
  test::SmallFarm farm;
  for (const std::uint32_t run : {3U, 4U}) {
    const run_record::RunFields fields{{"type", run == 3 ? "physics" : "laser"}};
    REQUIRE(farm.book.begin(RunNumber(run), farm.setup.of_run(RunNumber(run)), {}, fields).empty());
    v1::RunOver over;
    over.set_run(run);
    over.mutable_summary()->set_run(run);
    over.mutable_summary()->set_balanced(true);
    (void)farm.book.end(over, "small");
  }
  RunDesk desk(farm.folder.path());
  const auto all = desk.find({});
  REQUIRE(all);
  CHECK_THAT(*all, ContainsSubstring("\"number\": 4") && ContainsSubstring("\"number\": 3") &&
                       ContainsSubstring("\"matching\": 2"));
  CHECK_THAT(
      desk.find({{"type", "laser"}, {"since", "7d"}, {"outcome", "good,faults"}, {"limit", "5"}}).value(),
      ContainsSubstring("\"matching\": 1") && ContainsSubstring("\"all\": 2"));
  CHECK_THAT(desk.find({{"text", "laser"}}).value(), ContainsSubstring("\"matching\": 1"));
  CHECK_THAT(desk.show({{"number", "3"}}).value(),
             ContainsSubstring("\"type\": \"physics\"") && ContainsSubstring("\"ledger_balanced\": true"));
  CHECK_THAT(desk.show({{"number", "4"}, {"with", "3"}}).value(),
             ContainsSubstring("\"left\": \"physics\", \"right\": \"laser\""));
}

TEST_CASE("a wrong question is answered with a sentence") {
  test::SmallFarm farm;
  RunDesk desk(farm.folder.path());
  CHECK(desk.find({{"since", "yesterday"}}).error() ==
        "'yesterday' is not a moment: use 2026-03-01, '2026-03-01 10:00', 12h or 7d");
  CHECK(desk.find({{"limit", "0"}}).error() == "'0' is not a number of runs");
  CHECK(desk.show({}).error() == "'' is not a run number");
  CHECK(desk.show({{"number", "9"}}).error() == "there is no run 9");
  CHECK_THAT(RunDesk("/nonexistent").find({}).error(), ContainsSubstring("is not a folder"));
}
