#include "weir_catch.hpp"
#include <weir/shaping/readout_choice.hpp>

#include <vector>

namespace weir::shaping {
namespace {

Candidate candidate(std::uint32_t readout, std::uint64_t owed = 0, std::uint64_t left = 0, bool open = true) {
  Candidate made;
  made.readout = readout;
  made.owed = owed;
  made.left = left;
  made.open = open;
  return made;
}

}  // namespace

TEST_CASE("in order, the first readout of the farm is asked first") {
  const std::vector<Candidate> all = {candidate(3), candidate(1), candidate(2)};
  CHECK(choose(ReadoutOrder::in_order, all, 2, 4) == 1U);
}

TEST_CASE("rotated, every DCM begins with a readout of its own") {
  const std::vector<Candidate> all = {candidate(0), candidate(1), candidate(2), candidate(3)};
  for (std::uint32_t first = 0; first < 4; ++first)
    CHECK(choose(ReadoutOrder::rotated, all, first, 4) == first);
  const std::vector<Candidate> rest = {candidate(0), candidate(1)};
  CHECK(choose(ReadoutOrder::rotated, rest, 2, 4) == 0U);
}

TEST_CASE(
    "least loaded, the readout that owes least is asked, then the one with most left, then as rotated") {
  const auto order = ReadoutOrder::least_loaded;
  CHECK(choose(order, std::vector{candidate(0, 10), candidate(1, 5)}, 0, 2) == 1U);
  CHECK(choose(order, std::vector{candidate(0, 5, 1), candidate(1, 5, 9)}, 0, 2) == 1U);
  CHECK(choose(order, std::vector{candidate(0, 5, 9), candidate(1, 5, 9)}, 1, 2) == 1U);
}

TEST_CASE("a readout that may not be asked is passed over, and none is none") {
  const auto order = ReadoutOrder::least_loaded;
  CHECK(choose(order, std::vector{candidate(0, 0, 0, false), candidate(1, 9)}, 0, 2) == 1U);
  CHECK_FALSE(choose(order, std::vector{candidate(0, 0, 0, false)}, 0, 1).has_value());
  CHECK_FALSE(choose(order, std::vector<Candidate>{}, 0, 1).has_value());
}

}  // namespace weir::shaping
