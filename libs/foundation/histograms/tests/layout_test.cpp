#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/histograms/contents.hpp>
#include <weir/histograms/layout.hpp>

#include <cmath>
#include <iterator>
#include <limits>

using namespace weir::histograms;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<double> contents(const Layout& layout, Fills& fills) {
  std::vector<double> cells(layout.cells());
  std::vector<Addition> additions;
  fills.take(additions);
  for (const Addition& one : additions) cells[one.cell] += one.amount;
  return cells;
}

View view_of(const Layout& layout, std::uint32_t index, const std::vector<double>& cells) {
  const Booked& booked = layout.all()[index];
  return {booked.booking, std::span(cells).subspan(booked.first, booked.cells)};
}

}  // namespace

TEST_CASE(
    "a value is counted in the bin that has its lower edge, and outside the axis as under- or overflow") {
  const BinnedAxis axis{10, 0, 5};
  CHECK(axis.cell_of(0) == 1);
  CHECK(axis.cell_of(0.5) == 2);
  CHECK(axis.cell_of(4.999) == 10);
  CHECK(axis.cell_of(std::nextafter(5.0, 0.0)) == 10);
  CHECK(axis.cell_of(5) == 11);
  CHECK(axis.cell_of(-1e-300) == 0);
  CHECK(axis.cell_of(kInfinite) == 11);
  CHECK(axis.cell_of(-kInfinite) == 0);
  const BinnedAxis tenths{10, 0, 1};
  CHECK(tenths.cell_of(std::nextafter(1.0, 0.0)) == 10);
}

TEST_CASE("the lower edge of every bin is in that bin, and the number before it in the bin before") {
  for (const BinnedAxis& axis : {BinnedAxis{100, 0, 100}, BinnedAxis{360, -180, 180},
                                 BinnedAxis{97, 0.1, 12.7}, BinnedAxis{65'000, -1, 1e9}}) {
    std::uint32_t wrong = 0;
    for (std::uint32_t bin = 0; bin < axis.bins; ++bin) {
      wrong += axis.cell_of(axis.edge(bin)) == bin + 1 ? 0 : 1;
      wrong += axis.cell_of(std::nextafter(axis.edge(bin), -kInfinite)) == bin ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("every fill is an entry, and one that is not a number is unusable instead of in a bin") {
  Layout layout;
  const auto one = layout.book({"charge", Kind::one_dimension, {4, 0, 4}});
  REQUIRE(one);
  Fills fills;
  for (const double x : {0.0, 1.5, 1.7, 3.0, -2.0, 9.0, kInfinite}) fills.fill(layout.all()[0], x, 0, 1);
  fills.fill(layout.all()[0], kNan, 0, 1);
  fills.fill(layout.all()[0], 1, 0, kNan);
  fills.fill(layout.all()[0], 1, 0, kInfinite);
  fills.fill(layout.all()[0], 2.5, kNan, 0.5);  // a 1-D histogram has no y
  const auto cells = contents(layout, fills);
  const View view = view_of(layout, 0, cells);
  CHECK(view.entries() == 11);
  CHECK(view.unusable() == 3);
  CHECK(view.content(0) == 1);
  CHECK(view.content(1) == 1);
  CHECK(view.content(2) == 2);
  CHECK(view.content(3) == 0.5);
  CHECK(view.content(4) == 1);
  CHECK(view.content(5) == 2);
  CHECK(view.total() == 7.5);
  CHECK(fills.empty());
}

TEST_CASE("finite fills have finite sums, however large they are and however many slices add up") {
  Layout layout;
  REQUIRE(layout.book({"weights", Kind::one_dimension, {4, 0, 4}}));
  REQUIRE(layout.book({"means", Kind::profile, {4, 0, 4}}));
  Fills fills;
  Contents run;
  run.set_layout(layout);
  constexpr double kLarge[] = {1.7e308, -1.7e308, 2e280, 1e280, -1e280, 1e200, 1e-300};
  for (int slice = 0; slice < 100; ++slice) {
    for (const double amount : kLarge) {
      for (const Booked& one : layout.all()) {
        fills.fill(one, 1.5, 1, amount);
        fills.fill(one, 1.5, amount, 1);
        fills.fill(one, amount, 1, amount);
      }
    }
    std::vector<Addition> additions;
    fills.take(additions);
    for (const Addition& one : additions) CHECK(std::abs(one.amount) <= kStepSumMax);
    run.add(additions);
  }
  for (std::uint32_t one = 0; one < layout.all().size(); ++one) {
    for (const double cell : run.cells(one)) CHECK(std::isfinite(cell));
  }
  const View weights = run.view(0);
  CHECK(weights.entries() == 100 * 3 * std::size(kLarge));
  CHECK(weights.unusable() == 100 * 2 * 3);
}

TEST_CASE("a 2-D histogram has its own under- and overflow on each axis") {
  Layout layout;
  REQUIRE(layout.book({"other", Kind::one_dimension, {7, 0, 4}}));
  REQUIRE(layout.book({"map", Kind::two_dimensions, {2, 0, 2}, {3, 0, 3}}));
  Fills fills;
  fills.fill(layout.all()[1], 1.5, 2.5, 1);
  fills.fill(layout.all()[1], -1, 0.5, 1);
  fills.fill(layout.all()[1], 5, 7, 2);
  const auto cells = contents(layout, fills);
  const View view = view_of(layout, 1, cells);
  CHECK(view.content(2, 3) == 1);
  CHECK(view.content(0, 1) == 1);
  CHECK(view.content(3, 4) == 2);
  CHECK(view.total() == 4);
  CHECK(view_of(layout, 0, cells).entries() == 0);
}

TEST_CASE("a profile has the mean and the deviation of y in each bin of x") {
  Layout layout;
  REQUIRE(layout.book({"gain", Kind::profile, {2, 0, 2}}));
  Fills fills;
  for (const double y : {1.0, 2.0, 3.0}) fills.fill(layout.all()[0], 0.5, y, 1);
  fills.fill(layout.all()[0], 1.5, 10, 1);
  fills.fill(layout.all()[0], 1.5, kInfinite, 1);
  const auto cells = contents(layout, fills);
  const View view = view_of(layout, 0, cells);
  CHECK(view.mean_y(1) == 2);
  CHECK(view.sigma_y(1) == Approx(std::sqrt(2.0 / 3.0)));
  CHECK(view.mean_y(2) == 10);
  CHECK(view.unusable() == 1);
}

TEST_CASE("a repeated booking is the same histogram, and another binning is refused with both") {
  Layout layout;
  const auto first = layout.book({"hits", Kind::one_dimension, {100, 0, 50}});
  REQUIRE(layout.book({"size", Kind::one_dimension, {100, 0, 50}}));
  CHECK(layout.book({"hits", Kind::one_dimension, {100, 0, 50}}) == first);
  const auto other = layout.book({"hits", Kind::one_dimension, {50, 0, 50}});
  REQUIRE_FALSE(other);
  CHECK(
      other.error() ==
      "histogram 'hits' is booked with different binnings: 100 bins from 0 to 50, and 50 bins from 0 to 50; "
      "use one binning or two names");
  CHECK_FALSE(layout.book({"hits", Kind::profile, {100, 0, 50}}));
  CHECK(layout.all().size() == 2);
}

TEST_CASE("bookings beyond the limits are refused with the limit") {
  Layout layout;
  CHECK_FALSE(layout.book({"", Kind::one_dimension, {1, 0, 1}}));
  CHECK_FALSE(layout.book({std::string(kNameBytesMax + 1, 'a'), Kind::one_dimension, {1, 0, 1}}));
  CHECK_FALSE(layout.book({"a\"b", Kind::one_dimension, {1, 0, 1}}));
  CHECK_FALSE(layout.book({"a", Kind::one_dimension, {0, 0, 1}}));
  CHECK_FALSE(layout.book({"a", Kind::one_dimension, {1, 1, 1}}));
  CHECK_FALSE(layout.book({"a", Kind::one_dimension, {1, 0, kNan}}));
  CHECK_FALSE(layout.book({"a", Kind::one_dimension, {1, -1e308, 1e308}}));
  CHECK_FALSE(layout.book({"a", Kind::two_dimensions, {1, 0, 1}, {0, 0, 1}}));
  CHECK_FALSE(layout.book({"a", Kind::two_dimensions, {300, 0, 1}, {300, 0, 1}}));
  CHECK_FALSE(layout.book({"a", Kind::one_dimension, {UINT32_MAX, 0, 1}}));
  CHECK(layout.empty());
  for (std::size_t i = 0; i < kHistogramsMax; ++i)
    REQUIRE(layout.book({"h" + std::to_string(i), Kind::one_dimension, {1, 0, 1}}));
  const auto more = layout.book({"more", Kind::one_dimension, {1, 0, 1}});
  REQUIRE_FALSE(more);
  CHECK(more.error() == "histogram 'more' is one too many; a filter may book 64");
}

TEST_CASE("the cell of each addition belongs to the histogram that was filled") {
  Layout layout;
  for (std::uint32_t i = 0; i < 5; ++i)
    REQUIRE(layout.book({"h" + std::to_string(i), Kind::one_dimension, {i + 1, 0, 1}}));
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Booked& booked = layout.all()[i];
    CHECK(layout.owner_of(booked.first) == i);
    CHECK(layout.owner_of(booked.first + booked.cells - 1) == i);
  }
}

TEST_CASE("many fills of one cell are one addition") {
  Layout layout;
  REQUIRE(layout.book({"a", Kind::one_dimension, {2, 0, 2}}));
  Fills fills;
  for (int i = 0; i < 100'000; ++i) fills.fill(layout.all()[0], i % 2, 0, 1);
  std::vector<Addition> additions;
  fills.take(additions);
  CHECK(additions.size() == 5);  // entries, two sums, two bins
  fills.fill(layout.all()[0], 0, 0, 1);
  fills.clear();
  fills.take(additions);
  CHECK(additions.empty());
}

TEST_CASE("contents never lose a histogram") {
  const auto broken = [] {
    Layout layout;
    (void)layout.book({"a", Kind::one_dimension, {4, 0, 4}});
    Contents contents(layout);
    contents.set_layout(Layout());
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: layout.all().size() >="));
}
