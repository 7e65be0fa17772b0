#include "weir_catch.hpp"
#include <weir/slice_codec/tables.hpp>

#include <vector>

namespace weir::slice_codec {

TEST_CASE("unreachable nodes are listed once, in order, without nodes that the farm does not have") {
  v1::Reach reach;
  for (const std::uint32_t index : {2U, 0U, 2U}) reach.add_readouts(index);
  CHECK(decode(reach, 3, 0).value().readouts == std::vector<NodeIndex>{NodeIndex(0), NodeIndex(2)});
  CHECK(decode(reach, 2, 0).error() == BadRow{"Reach", "readouts", 0});
  reach.add_writers(1);
  CHECK(decode(reach, 3, 1).error() == BadRow{"Reach", "writers", 0});
}

TEST_CASE("a verdict about readouts that the farm does not have is refused") {
  v1::ReachVerdict verdict;
  verdict.add_missing(1);
  CHECK(decode(verdict, 2).value() == std::vector<bool>{false, true});
  CHECK(decode(verdict, 1).error() == BadRow{"ReachVerdict", "missing", 0});
}

}  // namespace weir::slice_codec
