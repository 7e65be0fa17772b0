#include "temporary_folder.hpp"
#include "weir_catch.hpp"
#include <weir/reports/filter_histograms.hpp>
#include <weir/run_record/histograms_command.hpp>
#include <weir/run_record/records.hpp>

#include <fstream>
#include <sstream>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::run_record;
using histograms::Kind;

namespace {

// The histograms of one run, written as at its end.
struct Recorded {
  explicit Recorded(std::uint32_t run = 5) {
    v1::RunSummary account;
    account.set_run(run);
    reports::put({"hits", Kind::one_dimension, {2, 0, 2}}, std::vector<double>{3, 0, 3, 4, 0, 2, 1, 0},
                 *account.add_histograms());
    std::vector<double> cells(4 + 3 * 4);
    cells[0] = cells[5] = 1;
    cells[9] = 7;
    cells[13] = 49;
    reports::put({"gain", Kind::profile, {2, 0, 2}}, cells, *account.add_histograms());
    account.mutable_histograms(0)->add_incomplete("dcm-1");
    REQUIRE(write_histograms(record_paths(folder.path().string(), RunNumber(run)), account));
  }
  int ask(HistogramsCommand command) {
    out.str("");
    err.str("");
    if (command.run.empty()) command.run = folder.path().string();
    return run_histograms_command(command, out, err);
  }
  test::TemporaryFolder folder;
  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace

TEST_CASE("the histograms of a folder's last run are drawn, with the names of lost DCMs") {
  Recorded run;
  REQUIRE(run.ask({}) == 0);
  CHECK_THAT(run.out.str(), ContainsSubstring("hits: 3 entries, mean 1, sigma"));
  CHECK_THAT(run.out.str(), ContainsSubstring("gain: 1 entries"));
  CHECK_THAT(run.out.str(), ContainsSubstring("incomplete: dcm-1 was lost"));
}

TEST_CASE("one histogram is written as JSON or CSV, as it was recorded") {
  Recorded run;
  HistogramsCommand command;
  command.name = "gain";
  command.csv = true;
  REQUIRE(run.ask(command) == 0);
  CHECK_THAT(run.out.str(), ContainsSubstring("\"gain\",0,1,1,7,0\n"));
  command.csv = false;
  command.json = true;
  command.run = run.folder.path().string() + "/run-000005-writer-0-00001.weir";
  REQUIRE(run.ask(command) == 0);
  CHECK(
      run.out.str() ==
      R"({"name": "gain", "kind": "profile", "x": {"bins": 2, "low": 0, "high": 2}, "entries": 1, "unusable": 0, )"
      R"("sum_x": 0, "sum_x2": 0, "contents": [0, 1, 0, 0], "sum_y": [0, 7, 0, 0], "sum_y2": [0, 49, 0, 0]})"
      "\n");
}

TEST_CASE("an unknown histogram, a run without any and a damaged record are told apart") {
  Recorded run;
  HistogramsCommand command;
  command.name = "charge";
  CHECK(run.ask(command) == 1);
  CHECK_THAT(run.err.str(), ContainsSubstring("no histogram 'charge'") && ContainsSubstring("'hits'"));
  const test::TemporaryFolder empty;
  command.run = empty.path().string();
  CHECK(run.ask(command) == 2);
  CHECK_THAT(run.err.str(), ContainsSubstring("has no run-…-histograms.json"));
  command.run = run.folder.path().string() + "/run-000006-histograms.json";
  std::ofstream(command.run) << R"({"run": 6, "incomplete": [], "histograms": [{"name": "a", "kind": "1d",
    "x": {"bins": 9, "low": 0, "high": 1}, "entries": 0, "unusable": 0, "sum_x": 0, "sum_x2": 0, "contents": []}]})";
  CHECK(run.ask(command) == 2);
  CHECK_THAT(run.err.str(), ContainsSubstring("another number of cells"));
}
