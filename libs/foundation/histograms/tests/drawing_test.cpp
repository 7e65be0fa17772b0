#include "weir_catch.hpp"
#include <weir/histograms/drawing.hpp>

using namespace weir::histograms;

namespace {

std::string drawing_of(const Booking& booking, const std::vector<std::array<double, 2>>& points,
                       const DrawingSize& size) {
  Layout layout;
  REQUIRE(layout.book(booking));
  Fills fills;
  for (const auto& [x, y] : points) fills.fill(layout.all()[0], x, y, 1);
  std::vector<Addition> additions;
  fills.take(additions);
  std::vector<double> cells(layout.cells());
  for (const Addition& one : additions) cells[one.cell] += one.amount;
  return draw({layout.all()[0].booking, cells}, size);
}

}  // namespace

TEST_CASE("a histogram is drawn with a bar per bin, the longest one as wide as allowed") {
  CHECK(drawing_of({"hits", Kind::one_dimension, {3, 0, 3}}, {{0.5, 0}, {1.5, 0}, {1.5, 0}, {-1, 0}, {7, 0}},
                   {4, 20}) ==
        "hits: 5 entries, mean 1.9, sigma 2.70924, underflow 1, overflow 1; 3 bins from 0 to 3\n"
        "             0 │██ 1\n"
        "             1 │████ 2\n"
        "             2 │ 0\n");
}

TEST_CASE("neighbouring bins share a line when there are more bins than lines") {
  const std::string text =
      drawing_of({"hits", Kind::one_dimension, {100, 0, 100}}, {{1, 0}, {2, 0}, {99, 0}}, {10, 4});
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
  CHECK(text.find("             0 │██████████ 2\n") != std::string::npos);
}

TEST_CASE("a 2-D histogram is drawn in shades with its y axis upwards") {
  const std::string text = drawing_of({"map", Kind::two_dimensions, {2, 0, 2}, {2, 0, 2}},
                                      {{0.5, 0.5}, {1.5, 1.5}, {1.5, 1.5}, {1.5, 1.5}, {1.5, 1.5}}, {10, 10});
  CHECK(text.find("             1 │ █│\n             0 │▒ │\n") != std::string::npos);
}

TEST_CASE("an empty histogram can be drawn") {
  CHECK(drawing_of({"empty", Kind::profile, {2, 0, 1}}, {}, {10, 10}) ==
        "empty: 0 entries, mean 0, sigma 0; a profile of 2 bins from 0 to 1\n"
        "             0 │ 0\n"
        "           0.5 │ 0\n");
}
