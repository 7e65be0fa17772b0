#include "weir_catch.hpp"
#include <weir/packets/sequence.hpp>

#include <random>
#include <set>

using weir::packets::Sequence;
using Arrival = Sequence::Arrival;

TEST_CASE("packets in order leave no gap") {
  Sequence sequence;
  for (std::uint32_t i = 0; i < 100; ++i) CHECK(sequence.arrive(i) == Arrival::next);
  CHECK(sequence.complete_before(sequence.place() + 1));
  CHECK(sequence.lost() == 0);
}

TEST_CASE("a gap is open until it is filled or given up") {
  Sequence sequence;
  CHECK(sequence.arrive(0) == Arrival::next);
  CHECK(sequence.arrive(3) == Arrival::next);
  CHECK(sequence.arrive(4) == Arrival::next);
  const std::uint64_t place = sequence.place();
  CHECK_FALSE(sequence.complete_before(place));
  CHECK(sequence.arrive(2) == Arrival::reordered);
  CHECK(sequence.arrive(2) == Arrival::stale);
  CHECK_FALSE(sequence.complete_before(place));
  CHECK(sequence.arrive(1) == Arrival::reordered);
  CHECK(sequence.complete_before(place));
  CHECK_FALSE(sequence.give_up_before(place));
  CHECK(sequence.lost() == 0);
}

TEST_CASE("packets that are given up are lost, and stale when they arrive") {
  Sequence sequence;
  (void)sequence.arrive(0);
  (void)sequence.arrive(5);
  (void)sequence.arrive(6);
  CHECK(sequence.give_up_before(sequence.place() - 3));  // numbers 1 and 2 of 1 to 4
  CHECK(sequence.lost() == 2);
  CHECK(sequence.arrive(2) == Arrival::given_up);
  CHECK(sequence.arrive(0) == Arrival::stale);
  CHECK(sequence.arrive(3) == Arrival::reordered);
  CHECK(sequence.arrive(7) == Arrival::next);
  CHECK(sequence.give_up_before(sequence.place()));
  CHECK(sequence.lost() == 3);
}

TEST_CASE("the number wraps without a loss") {
  Sequence sequence;
  CHECK(sequence.arrive(UINT32_MAX - 1) == Arrival::next);
  CHECK(sequence.arrive(UINT32_MAX) == Arrival::next);
  CHECK(sequence.arrive(0) == Arrival::next);
  CHECK(sequence.arrive(1) == Arrival::next);
  CHECK(sequence.complete_before(sequence.place() + 1));
}

TEST_CASE(
    "the first packets of a run are missed when later ones come first, in the middle of a run they are not") {
  Sequence early;
  (void)early.arrive(4);
  (void)early.arrive(5);
  CHECK(early.give_up_before(early.place()));
  CHECK(early.lost() == 4);
  Sequence joined;
  (void)joined.arrive(500'000);
  (void)joined.arrive(500'001);
  CHECK_FALSE(joined.give_up_before(joined.place()));
  CHECK(joined.lost() == 0);
}

TEST_CASE("a number far from the others changes nothing, and a restart begins a new count") {
  Sequence sequence;
  (void)sequence.arrive(5'000'000);
  (void)sequence.arrive(5'000'001);
  CHECK(sequence.arrive(0) == Arrival::far);
  CHECK(sequence.arrive(7'000'000) == Arrival::far);
  CHECK(sequence.arrive(5'000'003) == Arrival::next);
  sequence.restart(3);
  CHECK(sequence.arrive(3) == Arrival::next);
  const std::uint64_t place = sequence.place();
  CHECK(sequence.lost() == 1);  // 5'000'002
  CHECK(sequence.give_up_before(place));
  CHECK(sequence.arrive(4) == Arrival::next);
  CHECK(sequence.place() == place + 1);
  CHECK(sequence.arrive(2) == Arrival::stale);
}

TEST_CASE("the first packets of a new count are missed where it began at the start") {
  Sequence sequence;
  (void)sequence.arrive(500);
  sequence.restart({});
  CHECK(sequence.arrive(3) == Arrival::next);
  CHECK(sequence.arrive(4) == Arrival::next);
  CHECK_FALSE(sequence.complete_before(sequence.place()));
  CHECK(sequence.arrive(1) == Arrival::reordered);
  CHECK(sequence.arrive(0) == Arrival::reordered);
  CHECK(sequence.arrive(2) == Arrival::reordered);
  CHECK(sequence.arrive(5) == Arrival::next);
  CHECK(sequence.complete_before(sequence.place()));
}

TEST_CASE("a jump counts when a packet behind it confirms it, and nothing in between is given up before") {
  Sequence sequence;
  CHECK(sequence.arrive(0) == Arrival::next);
  CHECK(sequence.arrive(500) == Arrival::next);
  CHECK(sequence.arrive(500) == Arrival::stale);
  const std::uint64_t place = sequence.place();
  CHECK_FALSE(sequence.has_reached(place));
  CHECK(sequence.arrive(1) == Arrival::next);
  CHECK(sequence.has_reached(sequence.place()));
  CHECK_FALSE(sequence.give_up_before(place));
  CHECK(sequence.arrive(501) == Arrival::next);
  CHECK(sequence.has_reached(place));
  CHECK(sequence.give_up_before(place));
  CHECK(sequence.lost() == 498);
}

TEST_CASE("a jump that the count reaches is part of it, one that nothing confirms is forgotten") {
  Sequence sequence;
  for (const std::uint32_t number : {0U, 3U, 1U, 2U, 4U}) CHECK(sequence.arrive(number) == Arrival::next);
  CHECK(sequence.complete_before(sequence.place() + 1));
  CHECK(sequence.arrive(100'000) == Arrival::next);
  for (std::uint32_t i = 0; i < 1000; ++i) CHECK(sequence.arrive(5 + i) == Arrival::next);
  CHECK(sequence.arrive(100'001) == Arrival::next);
  CHECK_FALSE(sequence.has_reached(sequence.place()));
  CHECK(sequence.lost() == 0);
}

TEST_CASE("gaps are bounded, and the oldest are given up") {
  Sequence sequence;
  (void)sequence.arrive(0);
  for (std::uint32_t i = 1; i <= Sequence::kGapsMax + 10; ++i) (void)sequence.arrive(2 * i);
  CHECK(sequence.lost() == 10);
}

TEST_CASE("every packet is taken once, whatever the order and the losses") {
  std::mt19937 random(GENERATE(range(1U, 11U)));
  Sequence sequence;
  std::set<std::uint32_t> taken;
  std::uint64_t place = 0;
  for (std::uint32_t head = 0; head < 5000; ++head) {
    const std::uint32_t number = head - std::min(head, static_cast<std::uint32_t>(random() % 20));
    const Arrival arrival = sequence.arrive(number);
    REQUIRE(arrival != Arrival::far);
    REQUIRE((arrival == Arrival::next || arrival == Arrival::reordered) == taken.insert(number).second);
    place = std::max(place, sequence.place());
  }
  for (const std::uint32_t last : {5000U, 5001U}) {  // the last jump is confirmed
    REQUIRE(sequence.arrive(last) == Arrival::next);
    taken.insert(last);
    place = sequence.place();
  }
  (void)sequence.give_up_before(place);
  CHECK(sequence.lost() == *taken.rbegin() + 1 - taken.size());
}
