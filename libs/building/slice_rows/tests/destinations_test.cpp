#include "weir_catch.hpp"
#include <weir/slice_rows/destinations.hpp>

using namespace weir;
using namespace weir::slice_rows;

TEST_CASE("slice s goes to DCM s mod N of the epoch that it falls into") {
  DestinationTable table;
  CHECK_FALSE(table.of(SliceId(5)));
  table.change(SliceId(0), {NodeIndex(0), NodeIndex(1), NodeIndex(2)});
  table.change(SliceId(10), {NodeIndex(0), NodeIndex(2)});
  CHECK(table.number() == 2);
  CHECK(table.of(SliceId(4)) == NodeIndex(1));
  CHECK(table.of(SliceId(9)) == NodeIndex(0));
  CHECK(table.of(SliceId(11)) == NodeIndex(2));
}

TEST_CASE("a change at the same slice replaces the previous one under a new number") {
  DestinationTable table;
  table.change(SliceId(7), {NodeIndex(0)});
  table.change(SliceId(7), {});
  CHECK(table.number() == 2);
  CHECK(table.epochs().size() == 1);
  CHECK_FALSE(table.of(SliceId(8)));
}

TEST_CASE("old epochs are forgotten and their slices have no destination") {
  DestinationTable table;
  for (std::uint64_t i = 0; i <= DestinationTable::kEpochsMax; ++i) table.change(SliceId(i), {NodeIndex(0)});
  CHECK(table.epochs().size() == DestinationTable::kEpochsMax);
  CHECK_FALSE(table.of(SliceId(0)));
  CHECK(table.of(SliceId(1)) == NodeIndex(0));
}

TEST_CASE("a table that does not ascend is not taken") {
  DestinationTable table;
  CHECK(table.replace({{1, SliceId(0), {NodeIndex(3)}}, {2, SliceId(9), {NodeIndex(4)}}}));
  CHECK_FALSE(table.replace({{1, SliceId(5), {}}, {2, SliceId(5), {}}}));
  CHECK_FALSE(table.replace({{2, SliceId(1), {}}, {2, SliceId(5), {}}}));
  CHECK_FALSE(table.replace(std::vector<DestinationEpoch>(DestinationTable::kEpochsMax + 1)));
  CHECK(table.of(SliceId(9)) == NodeIndex(4));
}
