#include "weir_catch.hpp"
#include <weir/assignment/absences.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeIndex kFirst{0};
constexpr NodeIndex kSecond{1};

}  // namespace

TEST_CASE("a readout has no part in the slices from its leave to its return, others do") {
  AbsenceTable table;
  table.leave(kFirst, SliceId(10));
  CHECK(table.is_out(kFirst));
  CHECK_FALSE(table.covers(kFirst, SliceId(9)));
  CHECK(table.covers(kFirst, SliceId(10)));
  CHECK(table.covers(kFirst, SliceId(1'000'000)));
  CHECK_FALSE(table.covers(kSecond, SliceId(10)));
  table.join(kFirst, SliceId(20));
  CHECK_FALSE(table.is_out(kFirst));
  CHECK(table.covers(kFirst, SliceId(19)));
  CHECK_FALSE(table.covers(kFirst, SliceId(20)));
}

TEST_CASE("a readout that leaves and returns before a slice is triggered was never away") {
  AbsenceTable table;
  table.leave(kFirst, SliceId(10));
  table.join(kFirst, SliceId(10));
  CHECK(table.ranges().empty());
  CHECK(table.number() == 2);
}

TEST_CASE("who is not out is not changed by a return") {
  AbsenceTable table;
  table.join(kFirst, SliceId(10));
  CHECK(table.number() == 0);
}

TEST_CASE("a table that is told is taken whole, and refused with an empty range") {
  AbsenceTable table;
  CHECK(table.replace({{kFirst, SliceId(1), SliceId(5)}, {kSecond, SliceId(3)}}));
  CHECK(table.covers(kFirst, SliceId(4)));
  CHECK(table.is_out(kSecond));
  CHECK_FALSE(table.replace({{kFirst, SliceId(5), SliceId(5)}}));
  CHECK(table.ranges().size() == 2);
}

TEST_CASE("beyond the bound the oldest range that has ended is forgotten, and an open one is kept") {
  AbsenceTable table;
  table.leave(kSecond, SliceId(0));
  for (std::uint64_t i = 0; i < AbsenceTable::kEndedMax + 10; ++i) {
    table.leave(kFirst, SliceId(10 * i));
    table.join(kFirst, SliceId(10 * i + 5));
  }
  CHECK(table.ranges().size() <= AbsenceTable::kEndedMax + 2);
  CHECK(table.covers(kSecond, SliceId(7)));
  CHECK_FALSE(table.covers(kFirst, SliceId(0)));
  CHECK(table.covers(kFirst, SliceId(10 * (AbsenceTable::kEndedMax + 9))));
}
