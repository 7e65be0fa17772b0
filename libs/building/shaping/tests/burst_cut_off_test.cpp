#include "weir_catch.hpp"
#include <weir/shaping/burst_cut_off.hpp>

#include <set>

using namespace weir;
using namespace weir::shaping;

namespace {

// Returns the slices of one source that are not sent, for a burst of `length` slices from slice 10 on.
std::set<std::uint64_t> suppressed(std::uint64_t length, std::uint32_t slices) {
  BurstCutOff cut_off(1000, slices, 1);
  std::set<std::uint64_t> found;
  for (std::uint64_t slice = 0; slice < 100; ++slice) {
    const bool burst = slice >= 10 && slice < 10 + length;
    if (const auto middle = cut_off.saw(0, SliceId(slice), burst ? 1001 : 1000)) found.insert(middle->value);
  }
  return found;
}

}  // namespace

TEST_CASE("of a burst the first 4 and the last 4 slices are sent and those between are not") {
  CHECK(suppressed(12, 4) == std::set<std::uint64_t>{14, 15, 16, 17});
  CHECK(suppressed(9, 4) == std::set<std::uint64_t>{14});
  CHECK(suppressed(3, 1) == std::set<std::uint64_t>{11});
}

TEST_CASE("a burst that is no longer than its begin and its end is sent whole") {
  CHECK(suppressed(8, 4).empty());
  CHECK(suppressed(1, 4).empty());
  CHECK(suppressed(2, 1).empty());
}

TEST_CASE("the bursts of two sources are independent of each other") {
  BurstCutOff cut_off(0, 1, 2);
  CHECK_FALSE(cut_off.saw(0, SliceId(1), 9));
  CHECK_FALSE(cut_off.saw(1, SliceId(2), 9));
  CHECK_FALSE(cut_off.saw(0, SliceId(2), 9));
  CHECK_FALSE(cut_off.saw(1, SliceId(3), 9));
  CHECK(cut_off.saw(0, SliceId(3), 9) == SliceId(2));
}
