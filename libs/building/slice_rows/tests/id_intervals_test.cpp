#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/slice_rows/id_intervals.hpp>

#include <algorithm>
#include <functional>
#include <set>

using namespace weir;
using namespace weir::slice_rows;

namespace {

using Ids = std::set<std::uint64_t>;

// The intervals that a set of ids has, found the slow way.
std::vector<IdInterval> intervals_of(const Ids& ids) {
  std::vector<IdInterval> all;
  for (const std::uint64_t id : ids) {
    if (!all.empty() && id - all.back().last.value == 1) {
      all.back().last = SliceId(id);
    } else {
      all.push_back({SliceId(id), SliceId(id)});
    }
  }
  return all;
}

// Adds ids to both, and compares every answer before and after each.
void check_like_a_set(const std::function<std::uint64_t(std::uint64_t)>& nth, std::uint64_t count) {
  IdIntervals set;
  Ids ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t id = nth(i);
    CAPTURE(i, id);
    REQUIRE(set.contains(SliceId(id)) == ids.contains(id));
    const bool needs = set.needs_interval(SliceId(id));
    Ids with = ids;
    with.insert(id);
    const std::size_t before = intervals_of(ids).size();
    REQUIRE(needs == (intervals_of(with).size() > before));
    set.add(SliceId(id));
    ids = std::move(with);
    REQUIRE(set.intervals() == intervals_of(ids));
    REQUIRE(set.size() == intervals_of(ids).size());
    REQUIRE(set.highest().value == *ids.rbegin());
    for (const std::uint64_t near : {id - 1, id, id + 1})
      REQUIRE(set.contains(SliceId(near)) == ids.contains(near));
  }
}

}  // namespace

TEST_CASE("a set of intervals answers as a set of ids does, whatever their order") {
  constexpr std::uint64_t kCount = 200;
  SECTION("ascending") {
    check_like_a_set([](std::uint64_t i) { return 5 + i; }, kCount);
  }
  SECTION("descending") {
    check_like_a_set([](std::uint64_t i) { return kCount - i - 1; }, kCount);
  }
  SECTION("sparse") {
    check_like_a_set([](std::uint64_t i) { return i << 16U; }, kCount);
  }
  SECTION("sparse and descending") {
    check_like_a_set([](std::uint64_t i) { return (kCount - i) << 16U; }, kCount);
  }
  SECTION("every second one, then those between") {
    check_like_a_set([](std::uint64_t i) { return 2 * i < kCount ? 2 * i : 2 * (i - kCount / 2) + 1; },
                     kCount);
  }
  SECTION("at both ends of what an id can be") {
    check_like_a_set([](std::uint64_t i) { return i % 2 == 0 ? UINT64_MAX - i / 2 : i / 2; }, kCount);
  }
  SECTION("at random, with repeats") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::uint64_t range = 1 + mix64(seed) % 300;
      check_like_a_set([=](std::uint64_t i) { return mix64(seed * 1000 + i) % range; }, kCount);
    }
  }
}

TEST_CASE("intervals that touch or overlap become one") {
  IdIntervals set;
  set.add(IdInterval{SliceId(10), SliceId(19)});
  set.add(IdInterval{SliceId(30), SliceId(39)});
  set.add(IdInterval{SliceId(50), SliceId(59)});
  CHECK(set.size() == 3);
  set.add(IdInterval{SliceId(20), SliceId(29)});
  CHECK(set.intervals() == std::vector<IdInterval>{{SliceId(10), SliceId(39)}, {SliceId(50), SliceId(59)}});
  set.add(IdInterval{SliceId(5), SliceId(100)});
  CHECK(set.intervals() == std::vector<IdInterval>{{SliceId(5), SliceId(100)}});
}

TEST_CASE("ids without gaps take one interval however many they are, and sparse ones find their place fast") {
  IdIntervals dense;
  for (std::uint64_t id = 0; id < 1'000'000; ++id) dense.add(SliceId(id));
  CHECK(dense.size() == 1);
  IdIntervals sparse;
  for (std::uint64_t i = 0; i < 100'000; ++i) sparse.add(SliceId(mix64(i) >> 2U));
  CHECK(sparse.size() > 99'000);
  for (std::uint64_t i = 0; i < 100'000; ++i) CHECK(sparse.contains(SliceId(mix64(i) >> 2U)));
}

TEST_CASE("an interval of ids ends where it begins, or later") {
  const auto broken = [] {
    IdIntervals set;
    set.add({SliceId(5), SliceId(4)});
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: interval.first <= interval.last"));
}
