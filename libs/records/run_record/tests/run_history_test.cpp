#include "weir_catch.hpp"
#include <weir/run_record/run_history.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace weir;
using namespace weir::run_record;

TEST_CASE("the history outlives its process, keeps the newest, and passes over a line that was cut") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weir-history-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  {
    RunHistory history(path, 2);
    CHECK(history.runs().empty());
    for (std::uint32_t run = 1; run <= 3; ++run) {
      v1::FarmView::Run one;
      one.set_run(run);
      one.set_balanced(run != 2);
      one.set_reason("all triggers \"made\"");
      CHECK(history.add(one).empty());
    }
    CHECK(history.runs().size() == 2);
  }
  std::ofstream(path, std::ios::app) << R"({"run": 4, "sto)";
  const RunHistory history(path, 2);
  REQUIRE(history.runs().size() == 2);
  CHECK(history.runs()[0].run() == 3);
  CHECK(history.runs()[1].run() == 2);
  CHECK_FALSE(history.runs()[1].balanced());
  CHECK(history.runs()[0].reason() == "all triggers \"made\"");
  CHECK(history.highest() == 3);
  CHECK(history.unreadable() == 1);
  std::filesystem::remove(path);
}

TEST_CASE("an incomplete line does not damage another run's line") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weir-history-cut-" + std::to_string(::getpid()));
  std::ofstream(path) << "{\"run\": 1}\n\n{\"run\": 2, \"sto";
  {
    RunHistory history(path, 9);
    CHECK(history.unreadable() == 1);
    for (std::uint32_t run = 3; run <= 4; ++run) {
      v1::FarmView::Run one;
      one.set_run(run);
      CHECK(history.add(one).empty());
    }
  }
  const RunHistory history(path, 9);
  REQUIRE(history.runs().size() == 3);
  CHECK(history.runs()[0].run() == 4);
  CHECK(history.runs()[1].run() == 3);
  CHECK(history.runs()[2].run() == 1);
  CHECK(history.unreadable() == 1);
  std::filesystem::remove(path);
}

TEST_CASE("a history that cannot be written reports the reason") {
  RunHistory history("/no/such/folder/runs.jsonl", 9);
  CHECK(history.add({}) == "cannot write '/no/such/folder/runs.jsonl': No such file or directory");
  CHECK(history.runs().size() == 1);
}

TEST_CASE("a run's line has the values of its account") {
  v1::RunSummary summary;
  summary.set_run(5);
  summary.set_balanced(true);
  (*summary.mutable_counters())["triggered"] = 10;
  (*summary.mutable_counters())["stored"] = 4;
  (*summary.mutable_counters())["discarded.deadline"] = 1;
  (*summary.mutable_counters())["discarded.drain_timeout"] = 2;
  const v1::FarmView::Run run = run_of(summary);
  CHECK(run.run() == 5);
  CHECK(run.triggered() == 10);
  CHECK(run.stored() == 4);
  CHECK(run.discarded() == 3);
}

TEST_CASE("a run that another process writes down is in memory only") {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weir-history-kept-" + std::to_string(::getpid()));
  RunHistory history(path, 9);
  v1::FarmView::Run one;
  one.set_run(6);
  history.keep(one);
  CHECK(history.runs().size() == 1);
  CHECK_FALSE(std::filesystem::exists(path));
}
