#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/reports/filter_histograms.hpp>

#include <limits>

using namespace weir;
using namespace weir::reports;
using histograms::Kind;

namespace {

void fill(histograms::Contents& contents, std::uint32_t index, double x) {
  histograms::Fills fills;
  fills.fill(contents.layout().all()[index], x, 0, 1);
  std::vector<histograms::Addition> additions;
  fills.take(additions);
  contents.add(additions);
}

std::vector<std::string> names(const v1::Report& report) {
  std::vector<std::string> all;
  for (const auto& one : report.filter_histograms()) all.push_back(one.name());
  return all;
}

}  // namespace

TEST_CASE("reports have every booked histogram once, and then the changed ones") {
  histograms::Layout layout;
  for (const char* name : {"a", "b", "c"}) REQUIRE(layout.book({name, Kind::one_dimension, {4, 0, 4}}));
  histograms::Contents contents(layout);
  HistogramReporter reporter;
  v1::Report first;
  reporter.add_to(first, contents, false);
  CHECK(names(first) == std::vector<std::string>{"a", "b", "c"});
  v1::Report second;
  fill(contents, 1, 2.5);
  reporter.add_to(second, contents, false);
  REQUIRE(names(second) == std::vector<std::string>{"b"});
  CHECK(second.filter_histograms(0).cells(histograms::kHeadCells + 3) == 1);
  REQUIRE(booking_of(second.filter_histograms(0)));
  CHECK(*booking_of(second.filter_histograms(0)) == layout.all()[1].booking);
  v1::Report third;
  reporter.add_to(third, contents, false);
  CHECK(third.filter_histograms_size() == 0);
  reporter.add_to(third, contents, true);
  CHECK(third.filter_histograms_size() == 3);
}

TEST_CASE("large histograms take turns, so that a report stays below its limit") {
  histograms::Layout layout;
  for (const char* name : {"a", "b", "c", "d"})
    REQUIRE(layout.book({name, Kind::one_dimension, {4000, 0, 1}}));
  histograms::Contents contents(layout);
  HistogramReporter reporter;
  std::vector<std::string> seen;
  for (int i = 0; i < 2; ++i) {
    v1::Report report;
    contents.set_all_changed();
    reporter.add_to(report, contents, false);
    CHECK(report.ByteSizeLong() <= kHistogramBytesPerReport + 200);
    for (const std::string& name : names(report)) seen.push_back(name);
  }
  CHECK(seen == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("a histogram with impossible numbers is refused with the reason") {
  v1::FilterHistogram good;
  put({"a", Kind::one_dimension, {2, 0, 1}}, std::vector<double>(8), good);
  REQUIRE(booking_of(good));
  v1::FilterHistogram bad = good;
  bad.add_cells(1);
  CHECK(booking_of(bad).error() == "histogram 'a' has 9 cells instead of 8");
  bad = good;
  bad.mutable_x()->set_bins(UINT32_MAX);
  CHECK_FALSE(booking_of(bad));
  bad = good;
  bad.set_kind(4);
  CHECK_FALSE(booking_of(bad));
  bad = good;
  bad.mutable_x()->set_high(std::numeric_limits<double>::infinity());
  CHECK_FALSE(booking_of(bad));
}

TEST_CASE("the histograms of a run are the last ones reported, and those of another run replace them") {
  FilterHistogramList list;
  put({"a", Kind::one_dimension, {1, 0, 1}}, std::vector<double>{2, 0, 1, 0.5, 0, 2, 0}, *list.Add());
  list.Mutable(0)->add_incomplete("dcm-1");
  RunHistograms run;
  run.take(5, list);
  CHECK(run.document() ==
        "{\"run\": 5, \"incomplete\": [\"dcm-1\"], \"histograms\": [\n"
        "{\"name\": \"a\", \"kind\": \"1d\", \"x\": {\"bins\": 1, \"low\": 0, \"high\": 1}, \"entries\": 2, "
        "\"unusable\": 0, \"sum_x\": 1, \"sum_x2\": 0.5, \"contents\": [0, 2, 0]}]}\n");
  const std::uint64_t version = run.version();
  run.take(5, {});
  CHECK(run.version() == version);
  run.take(6, {});
  CHECK(run.version() > version);
  CHECK(run.document() == "{\"run\": 6, \"incomplete\": [], \"histograms\": []}\n");
}

TEST_CASE("a report has every cell of a histogram") {
  const auto broken = [] {
    v1::FilterHistogram out;
    put({"a", Kind::one_dimension, {4, 0, 4}, {}}, std::vector<double>(3), out);
  };
  CHECK_THAT(
      weir::test::broken_invariant(broken),
      Catch::Matchers::ContainsSubstring("broken invariant: cells.size() == histograms::cells_of(booking)"));
}
