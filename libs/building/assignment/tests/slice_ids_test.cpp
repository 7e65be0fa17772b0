#include "weir_catch.hpp"
#include <weir/assignment/slice_ids.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr std::size_t kManyIds = 1000;

}  // namespace

TEST_CASE("the next id is above all given ids, even if a trigger named one") {
  SliceIds ids(SliceId(5), kManyIds);
  CHECK(ids.next() == SliceId(5));
  ids.give(SliceId(5));
  CHECK(ids.next() == SliceId(6));
  ids.give(SliceId(20));
  ids.give(SliceId(10));
  CHECK(ids.next() == SliceId(21));
}

TEST_CASE("the highest id that a trigger may name is below the highest counted one") {
  SliceIds ids(SliceId(0), kManyIds);
  CHECK(ids.is_good(kSliceIdNamedMax));
  CHECK_FALSE(ids.is_good(kSliceIdNamedMax.next()));
  ids.give(kSliceIdNamedMax);
  CHECK(ids.is_good(std::nullopt));
  CHECK_FALSE(ids.used_up());
}

TEST_CASE("a run that has given its last id has no further one") {
  SliceIds ids(kSliceIdMax, kManyIds);
  CHECK(ids.is_good(std::nullopt));
  ids.give(kSliceIdMax);
  CHECK(ids.used_up());
  CHECK_FALSE(ids.is_good(std::nullopt));
  CHECK(ids.is_good(SliceId(3)));  // an id that was skipped
}

TEST_CASE("after a restart exactly the given ids are duplicates, even below the next one") {
  SliceIds ids(SliceId(0), kManyIds);
  for (const std::uint64_t id : {3, 4, 9, 7}) ids.give(SliceId(id));
  SliceIds next(SliceId(0), kManyIds);
  next.resume(ids.given().intervals(), ids.next());
  CHECK(next.next() == SliceId(10));
  for (std::uint64_t id = 0; id < 12; ++id) {
    const bool given = id == 3 || id == 4 || id == 9 || id == 7;
    CHECK(next.veto(SliceId(id)) == (given ? VetoReason::duplicate_id : VetoReason::none));
  }
  SliceIds farther(SliceId(500), kManyIds);
  farther.resume(ids.given().intervals(), ids.next());
  CHECK(farther.next() == SliceId(500));
}

TEST_CASE("without a free interval, ids adjacent to given ones are accepted, and no others") {
  SliceIds ids(SliceId(0), 2);
  ids.give(SliceId(10));
  ids.give(SliceId(20));
  for (const std::uint64_t id : {9, 11, 19, 21}) CHECK(ids.veto(SliceId(id)) == VetoReason::none);
  for (const std::uint64_t id : {0, 8, 12, 18, 22})
    CHECK(ids.veto(SliceId(id)) == VetoReason::id_memory_full);
  CHECK(ids.veto(SliceId(10)) == VetoReason::duplicate_id);
  for (std::uint64_t id = 11; id < 20; ++id) {
    REQUIRE(ids.veto(SliceId(id)) == VetoReason::none);
    ids.give(SliceId(id));
  }
  CHECK(ids.given().size() == 1);
  CHECK(ids.veto(SliceId(0)) == VetoReason::none);
}
