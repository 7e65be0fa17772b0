#include "weir_catch.hpp"
#include <weir/assignment/given_up_copies.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeIndex kOne{0};
constexpr NodeIndex kOther{1};

GivenUpCopy copy(std::uint64_t slice, NodeIndex writer, std::uint16_t epoch) {
  return {SliceId(slice), writer, StoreEpoch(epoch)};
}

}  // namespace

TEST_CASE("a copy that was given up is identified by its slice, its writer and its epoch") {
  GivenUpCopies copies(2);
  copies.add(copy(7, kOne, 3));
  CHECK(copies.has(SliceId(7), kOne, StoreEpoch(3)));
  CHECK_FALSE(copies.has(SliceId(8), kOne, StoreEpoch(3)));
  CHECK_FALSE(copies.has(SliceId(7), kOther, StoreEpoch(3)));
  CHECK_FALSE(copies.has(SliceId(7), kOne, StoreEpoch(4)));
}

TEST_CASE("each writer's copies are counted, and are orphans once their slice is settled and not stored") {
  GivenUpCopies copies(2);
  copies.add(copy(7, kOne, 0));
  copies.add(copy(7, kOther, 1));
  copies.add(copy(8, kOne, 0));
  copies.orphan(SliceId(7));
  copies.orphan(SliceId(7));  // an orphan is not counted twice
  CHECK(copies.of(kOne).all == 2);
  CHECK(copies.of(kOne).orphans == 1);
  CHECK(copies.of(kOther).all == 1);
  CHECK(copies.of(kOther).orphans == 1);
}

TEST_CASE("a copy that counts after all is no longer given up, the slice's others still are") {
  GivenUpCopies copies(2);
  copies.add(copy(7, kOne, 0));
  copies.add(copy(7, kOne, 1));
  copies.take_back(SliceId(7), kOne, StoreEpoch(1));
  CHECK(copies.of(kOne).all == 1);
  CHECK_FALSE(copies.has(SliceId(7), kOne, StoreEpoch(1)));
  CHECK(copies.has(SliceId(7), kOne, StoreEpoch(0)));
  copies.take_back(SliceId(9), kOne, StoreEpoch(0));  // it was never given up
  CHECK(copies.of(kOne).all == 1);
}

TEST_CASE("beyond the bound copies are counted and not remembered") {
  GivenUpCopies copies(1, 2);
  for (std::uint64_t slice = 0; slice < 5; ++slice) copies.add(copy(slice, kOne, 0));
  CHECK(copies.of(kOne).all == 5);
  CHECK(copies.has(SliceId(1), kOne, StoreEpoch(0)));
  CHECK_FALSE(copies.has(SliceId(2), kOne, StoreEpoch(0)));
  copies.take_back(SliceId(4), kOne, StoreEpoch(0));
  CHECK(copies.of(kOne).all == 5);
}

TEST_CASE("another supervisor process resumes with the copies as they were, by slice") {
  GivenUpCopies copies(2);
  copies.add(copy(8, kOther, 2));
  copies.add(copy(7, kOne, 0));
  copies.orphan(SliceId(7));
  std::vector<GivenUpCopy> told;
  copies.append(told);
  REQUIRE(told.size() == 2);
  CHECK(told[0].slice == SliceId(7));
  GivenUpCopies next(2);
  for (const GivenUpCopy& one : told) next.add(one);
  CHECK(next.of(kOne).all == 1);
  CHECK(next.of(kOne).orphans == 1);
  CHECK(next.of(kOther).all == 1);
  CHECK(next.of(kOther).orphans == 0);
  CHECK(next.has(SliceId(8), kOther, StoreEpoch(2)));
}

TEST_CASE("a copy of a writer that the farm no longer has is remembered, and counted for no node") {
  GivenUpCopies copies(1);
  copies.add(copy(7, kOther, 0));
  copies.orphan(SliceId(7));
  CHECK(copies.has(SliceId(7), kOther, StoreEpoch(0)));
  CHECK(copies.of(kOne).all == 0);
}

TEST_CASE("only the writer's own copies are visited") {
  GivenUpCopies copies(2);
  copies.add(copy(7, kOne, 0));
  copies.add(copy(8, kOther, 0));
  const auto is_eight = [](SliceId slice) { return slice == SliceId(8); };
  CHECK(copies.any_of(kOther, is_eight));
  CHECK_FALSE(copies.any_of(kOne, is_eight));
}

TEST_CASE("equal copies are equal states, whatever the order in which they were given up") {
  GivenUpCopies one(2);
  GivenUpCopies other(2);
  one.add(copy(7, kOne, 0));
  one.add(copy(7, kOther, 1));
  other.add(copy(7, kOther, 1));
  std::vector<std::uint64_t> of_one;
  std::vector<std::uint64_t> of_other;
  one.append_state(of_one);
  other.append_state(of_other);
  CHECK(of_one != of_other);
  other.add(copy(7, kOne, 0));
  of_other.clear();
  other.append_state(of_other);
  CHECK(of_one == of_other);
}
