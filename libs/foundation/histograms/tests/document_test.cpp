#include "weir_catch.hpp"
#include <weir/histograms/contents.hpp>
#include <weir/histograms/document.hpp>

using namespace weir::histograms;

namespace {

Contents filled(const Booking& booking) {
  Layout layout;
  REQUIRE(layout.book(booking));
  Contents contents(layout);
  Fills fills;
  for (const double x : {0.5, 1.5, 1.5, 9.0}) fills.fill(layout.all()[0], x, 2 * x, 1);
  std::vector<Addition> additions;
  fills.take(additions);
  contents.add(additions);
  return contents;
}

}  // namespace

TEST_CASE("a histogram's JSON has its axis, its sums and its contents with under- and overflow") {
  const Contents contents = filled({"hits", Kind::one_dimension, {2, 0, 2}});
  CHECK(
      to_json(contents.view(0), contents.cells(0)) ==
      R"({"name": "hits", "kind": "1d", "x": {"bins": 2, "low": 0, "high": 2}, "entries": 4, "unusable": 0, )"
      R"("sum_x": 12.5, "sum_x2": 85.75, "contents": [0, 1, 2, 1]})");
}

TEST_CASE("a profile's CSV has the mean and the deviation of y in each bin, open ends as infinite edges") {
  const Contents contents = filled({"gain", Kind::profile, {2, 0, 2}});
  CHECK(to_csv(contents.view(0)) ==
        "histogram,x_low,x_high,content,mean_y,sigma_y\n"
        "\"gain\",-inf,0,0,0,0\n\"gain\",0,1,1,1,0\n\"gain\",1,2,2,3,0\n\"gain\",2,inf,1,18,0\n");
}

TEST_CASE("a 2-D histogram's CSV has a line per cell, x first") {
  const Contents contents = filled({"map", Kind::two_dimensions, {1, 0, 2}, {1, 0, 2}});
  const std::string csv = to_csv(contents.view(0));
  CHECK(csv.starts_with("histogram,x_low,x_high,y_low,y_high,content\n\"map\",-inf,0,-inf,0,0\n"));
  CHECK(csv.find("\"map\",0,2,2,inf,2\n") != std::string::npos);
  CHECK(csv.find("\"map\",2,inf,2,inf,1\n") != std::string::npos);
}

TEST_CASE("contents know which histograms changed, and add up with those of another process") {
  Contents contents = filled({"hits", Kind::one_dimension, {2, 0, 2}});
  CHECK(contents.changed(0));
  contents.clear_changed(0);
  contents.add(std::span<const Addition>());
  CHECK_FALSE(contents.changed(0));
  contents.add(filled({"hits", Kind::one_dimension, {2, 0, 2}}));
  CHECK(contents.changed(0));
  CHECK(contents.view(0).entries() == 8);
  CHECK(contents.view(0).content(2) == 4);
  Layout longer = contents.layout();
  REQUIRE(longer.book({"size", Kind::one_dimension, {3, 0, 3}}));
  contents.set_layout(longer);
  CHECK(contents.changed(1));
  CHECK(contents.view(0).entries() == 8);
  CHECK(contents.view(1).entries() == 0);
}
