#include "broken_invariant.hpp"
#include "weir_catch.hpp"
#include <weir/assignment/slice_book.hpp>

#include <random>
#include <set>

using namespace weir;
using namespace weir::assignment;

TEST_CASE("a settled slice is remembered until a later id takes its place") {
  SliceBook book(4, 8);
  SliceEntry* entry = book.insert(SliceId(3), {}, {});
  REQUIRE(entry != nullptr);
  CHECK(book.live() == 1);
  book.settle(*entry, Outcome::stored);
  CHECK(book.live() == 0);
  REQUIRE(book.find(SliceId(3)) != nullptr);
  CHECK(book.find(SliceId(3))->outcome == Outcome::stored);
  CHECK(book.insert(SliceId(3), {}, {}) == nullptr);
  REQUIRE(book.insert(SliceId(11), {}, {}) != nullptr);
  CHECK(book.find(SliceId(3)) == nullptr);
}

TEST_CASE("ids that share a place in the ring live beside each other") {
  SliceBook book(4, 8);
  REQUIRE(book.insert(SliceId(1), {}, {}) != nullptr);
  REQUIRE(book.insert(SliceId(9), {}, {}) != nullptr);
  REQUIRE(book.insert(SliceId(17), {}, {}) != nullptr);
  CHECK(book.insert(SliceId(9), {}, {}) == nullptr);
  CHECK(book.live() == 3);
  std::uint64_t sum = 0;
  book.for_each_live([&](const SliceEntry& entry) { sum += entry.slice.value; });
  CHECK(sum == 27);
  book.settle(*book.find(SliceId(9)), Outcome::rejected);
  CHECK(book.find(SliceId(9)) == nullptr);  // its place is taken: not remembered
  book.settle(*book.find(SliceId(1)), Outcome::rejected);
  book.settle(*book.find(SliceId(17)), Outcome::discarded);
  REQUIRE(book.find(SliceId(17)) != nullptr);
  CHECK(book.find(SliceId(17))->outcome == Outcome::discarded);
  CHECK(book.live() == 0);
}

TEST_CASE("a payload is kept until its slice is settled, and counted") {
  SliceBook book(4, 8);
  const std::byte bytes[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  REQUIRE(book.insert(SliceId(1), {}, bytes) != nullptr);
  REQUIRE(book.insert(SliceId(2), {}, {}) != nullptr);
  CHECK(book.payload_bytes() == 3);
  CHECK(book.payload(*book.find(SliceId(1))).size() == 3);
  CHECK(book.payload(*book.find(SliceId(2))).empty());
  book.settle(*book.find(SliceId(1)), Outcome::stored);
  CHECK(book.payload_bytes() == 0);
}

TEST_CASE("exactly the unsettled slices are visited, whatever the order of their ids") {
  const std::uint64_t spread = GENERATE(4U, 12U, 200U);
  SliceBook book(8, 16);
  std::set<std::uint64_t> unsettled;
  std::mt19937_64 random(spread);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t id = i / 3 + random() % spread;
    if (unsettled.size() < 40 && random() % 2 == 0) {
      if (book.insert(SliceId(id), {}, {}) != nullptr) unsettled.insert(id);
    } else if (!unsettled.empty()) {
      const auto near = unsettled.lower_bound(id);
      const auto one = near == unsettled.end() ? unsettled.begin() : near;
      book.settle(*book.find(SliceId(*one)), Outcome::rejected);
      unsettled.erase(one);
    }
    std::set<std::uint64_t> visited;
    book.for_each_live([&](const SliceEntry& entry) { visited.insert(entry.slice.value); });
    REQUIRE(visited == unsettled);
    REQUIRE(book.live() == unsettled.size());
  }
}

TEST_CASE("a settled slice is not assigned again, nor settled twice") {
  const auto broken = [] {
    SliceBook book(4, 8);
    SliceEntry* entry = book.insert(SliceId(3), {}, {});
    enter(*entry, SliceState::assigned);
    book.settle(*entry, Outcome::stored);
    enter(*entry, SliceState::assigned);
  };
  CHECK_THAT(weir::test::broken_invariant(broken),
             Catch::Matchers::ContainsSubstring("broken invariant: kTransitions.allow(entry.state, state)"));
}
