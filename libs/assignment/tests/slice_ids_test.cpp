#include "weir_catch.hpp"
#include <weir/assignment/slice_ids.hpp>

using namespace weir;
using namespace weir::assignment;

TEST_CASE("the next id is above all that were given, also where a trigger named one") {
  SliceIds ids(SliceId(5));
  CHECK(ids.next() == SliceId(5));
  ids.give(SliceId(5));
  CHECK(ids.next() == SliceId(6));
  ids.give(SliceId(20));
  ids.give(SliceId(10));
  CHECK(ids.next() == SliceId(21));
}

TEST_CASE("an id that a trigger names ends earlier than those that are counted") {
  SliceIds ids(SliceId(0));
  CHECK(ids.is_good(kSliceIdNamedMax));
  CHECK_FALSE(ids.is_good(kSliceIdNamedMax.next()));
  ids.give(kSliceIdNamedMax);
  CHECK(ids.is_good(std::nullopt));
  CHECK_FALSE(ids.used_up());
}

TEST_CASE("a run whose last id was given has used them up") {
  SliceIds ids(kSliceIdMax);
  CHECK(ids.is_good(std::nullopt));
  ids.give(kSliceIdMax);
  CHECK(ids.used_up());
  CHECK_FALSE(ids.is_good(std::nullopt));
  CHECK(ids.is_good(SliceId(3)));  // one that was left out
}

TEST_CASE("after a restart what the process before may have given is not given again") {
  SliceIds ids(SliceId(0));
  CHECK_FALSE(ids.may_be_given(SliceId(0)));
  ids.resume(SliceId(100));
  CHECK(ids.next() == SliceId(100));
  CHECK(ids.may_be_given(SliceId(99)));
  CHECK_FALSE(ids.may_be_given(SliceId(100)));
  SliceIds farther(SliceId(500));
  farther.resume(SliceId(100));
  CHECK(farther.next() == SliceId(500));
  CHECK(farther.given_before() == SliceId(500));
}
