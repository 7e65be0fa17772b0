#include "../src/histogram_board.hpp"

#include "weir_catch.hpp"
#include <weir/histograms/layout.hpp>
#include <weir/reports/filter_histograms.hpp>

#include <algorithm>
#include <set>

using namespace weir;
using namespace weir::supervisor;
using histograms::Booking;
using histograms::Kind;

namespace {

const Booking kHits{"hits", Kind::one_dimension, {2, 0, 2}};

v1::Report reported(double entries, const Booking& booking = kHits) {
  v1::Report report;
  std::vector<double> cells(histograms::cells_of(booking));
  cells[histograms::kEntries] = cells[histograms::kHeadCells + 1] = entries;
  reports::put(booking, cells, *report.add_filter_histograms());
  return report;
}

double entries(const HistogramBoard& board) {
  v1::RunSummary summary;
  board.add_all(summary);
  REQUIRE(summary.histograms_size() == 1);
  CHECK(summary.histograms(0).cells(histograms::kHeadCells + 1) == summary.histograms(0).cells(0));
  return summary.histograms(0).cells(0);
}

std::vector<std::string> changed(HistogramBoard& board) {
  v1::Report report;
  board.add_changed(report);
  std::vector<std::string> names;
  for (const auto& one : report.filter_histograms()) names.push_back(one.name());
  return names;
}

}  // namespace

TEST_CASE("the totals of all DCMs add up, and a later report of a DCM replaces its earlier one") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(10)).empty());
  CHECK(board.take("dcm-1", Incarnation(2), reported(5)).empty());
  CHECK(entries(board) == 15);
  CHECK(board.take("dcm-0", Incarnation(1), reported(12)).empty());
  CHECK(board.take("dcm-0", Incarnation(1), reported(12)).empty());
  CHECK(entries(board) == 17);
  CHECK(board.incomplete().empty());
}

TEST_CASE("a restarted DCM adds to its earlier process, and the histograms name it as incomplete") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(10)).empty());
  board.lost("dcm-0", Incarnation(1));
  CHECK(board.take("dcm-0", Incarnation(9), reported(3)).empty());
  CHECK(entries(board) == 13);
  CHECK(board.incomplete() == "dcm-0");
  v1::RunSummary summary;
  board.add_all(summary);
  REQUIRE(summary.histograms(0).incomplete_size() == 1);
  CHECK(summary.histograms(0).incomplete(0) == "dcm-0");
}

TEST_CASE("histograms name a supervisor that was restarted, and their successors after it do, too") {
  HistogramBoard board;
  board.supervisor_restarted();
  CHECK(board.incomplete().empty());  // without histograms
  CHECK(board.take("dcm-0", Incarnation(1), reported(3)).empty());
  CHECK(board.incomplete() == "supervisor");
  HistogramBoard next;
  CHECK(next.recall(board.earlier()).empty());
  CHECK(next.incomplete() == "supervisor");
}

TEST_CASE("a DCM that was only disconnected is complete") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(10)).empty());
  board.lost("dcm-0", Incarnation(1));
  board.returned("dcm-0", Incarnation(1));
  CHECK(board.take("dcm-0", Incarnation(1), reported(14)).empty());
  CHECK(entries(board) == 14);
  CHECK(board.incomplete().empty());
}

TEST_CASE("two DCMs with different binnings under one name are refused with both") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(1)).empty());
  CHECK(board.take("dcm-1", Incarnation(1), reported(1, {"hits", Kind::one_dimension, {4, 0, 2}})) ==
        "histogram 'hits' is booked with different binnings: 2 bins from 0 to 2, and 4 bins from 0 to 2; use "
        "one "
        "binning or two names (dcm-0 and dcm-1)");
  CHECK(entries(board) == 1);
  v1::Report damaged = reported(1);
  damaged.mutable_filter_histograms(0)->add_cells(0);
  CHECK(board.take("dcm-1", Incarnation(1), damaged) == "dcm-1: histogram 'hits' has 9 cells instead of 8");
}

TEST_CASE("the supervisor reports changed histograms, and unchanged ones one by one") {
  HistogramBoard board;
  for (const char* name : {"a", "b", "c"})
    CHECK(board.take("dcm-0", Incarnation(1), reported(1, {name, Kind::one_dimension, {2, 0, 2}})).empty());
  CHECK(changed(board) == std::vector<std::string>{"a", "b", "c"});
  std::set<std::string> unchanged;
  for (int i = 0; i < 3; ++i) {
    const auto names = changed(board);
    REQUIRE(names.size() == 1);
    unchanged.insert(names.front());
  }
  CHECK(unchanged.size() == 3);
  CHECK(board.take("dcm-0", Incarnation(1), reported(2, {"b", Kind::one_dimension, {2, 0, 2}})).empty());
  const auto names = changed(board);
  CHECK(std::find(names.begin(), names.end(), "b") != names.end());
}

TEST_CASE("a process' totals survive the supervisor in its journal") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(10)).empty());
  v1::Report journalled;
  board.add_totals("dcm-0", Incarnation(1), journalled);
  HistogramBoard next;
  CHECK(next.take("dcm-0", Incarnation(1), journalled).empty());
  CHECK(next.take("dcm-1", Incarnation(5), reported(1)).empty());
  CHECK(entries(next) == 11);
}

TEST_CASE(
    "the totals of processes before the last ones, and the names of lost ones, survive the supervisor "
    "twice") {
  HistogramBoard board;
  CHECK(board.take("dcm-0", Incarnation(1), reported(10)).empty());
  board.lost("dcm-0", Incarnation(1));
  CHECK(board.take("dcm-0", Incarnation(2), reported(100)).empty());
  for (int restart = 0; restart < 2; ++restart) {
    const std::vector<v1::FilterHistogram> earlier = board.earlier();
    v1::Report last;
    board.add_totals("dcm-0", Incarnation(2), last);
    HistogramBoard next;
    CHECK(next.recall(earlier).empty());
    CHECK(next.take("dcm-0", Incarnation(2), last).empty());
    CHECK(entries(next) == 110);
    CHECK(next.incomplete() == "dcm-0");
    board = next;
  }
}
