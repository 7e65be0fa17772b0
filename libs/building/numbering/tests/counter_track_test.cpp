#include "weir_catch.hpp"
#include <weir/numbering/counter_track.hpp>

#include <random>

using namespace weir;
using numbering::CounterTrack;

TEST_CASE("a counter that wraps stands for ascending numbers") {
  CounterTrack track({8, 0, SliceId(0)});
  for (std::uint64_t number = 0; number < 1000; ++number)
    REQUIRE(track.take(number % 256, std::nullopt) == SliceId(number));
  CHECK(track.counts() == numbering::CounterCounts());
}

TEST_CASE("the first fragment's counter is placed near the run's first number, with the offset") {
  CounterTrack track({16, -1, SliceId(70000)});
  CHECK(track.take(70001 % 65536, std::nullopt) == SliceId(70000));
  CHECK(track.take(70002 % 65536, std::nullopt) == SliceId(70001));
}

TEST_CASE("skipped, repeated and lower numbers are counted") {
  CounterTrack track({16, 0, SliceId(0)});
  CHECK(track.take(2, std::nullopt) == SliceId(2));
  CHECK(track.take(2, std::nullopt) == SliceId(2));
  CHECK(track.take(7, std::nullopt) == SliceId(7));
  CHECK(track.take(5, std::nullopt) == SliceId(5));
  CHECK(track.counts() == numbering::CounterCounts{6, 1, 1, 0});
}

TEST_CASE(
    "a source that was silent is placed by the farm's latest number within half a range, and not beyond") {
  CounterTrack track({8, 0, SliceId(0)});
  CHECK(track.take(3, std::nullopt) == SliceId(3));
  CHECK(track.take(120, SliceId(119)) == SliceId(120));
  CHECK(track.take(200, SliceId(199)) == SliceId(200));
  CHECK_FALSE(track.take(90, SliceId(201 + 128)).has_value());
  CHECK(track.counts().unanchored == 1);
  CHECK(track.last() == SliceId(200));
}

TEST_CASE("a flipped bit moves only its own fragment, and two counters in sequence move the source") {
  CounterTrack track({16, 0, SliceId(0)});
  for (std::uint64_t number = 0; number < 40'000; ++number)
    REQUIRE(track.take(number & 0xffff, SliceId(number)) == SliceId(number));
  // The next one is lost. From a flipped bit 15 on, the farm would be half a range ahead.
  CHECK(track.take(40'001 ^ 0x8000, SliceId(40'001)) == SliceId(40'001 - 0x8000));
  CHECK(track.take(40'004, SliceId(40'004)) == SliceId(40'004));
  CHECK(track.take(40'005 + 16'384, SliceId(40'005)) == SliceId(40'005 + 16'384));
  CHECK(track.take((40'006 - 16'384) & 0xffff, SliceId(40'006)) == SliceId(40'006 - 16'384));
  CHECK(track.take(40'007, SliceId(40'007)) == SliceId(40'007));
  for (std::uint64_t number = 0; number < 40'000; ++number)
    REQUIRE(track.take((60'000 + number) & 0xffff, SliceId(40'007)) == SliceId(60'000 + number));
}

TEST_CASE("the highest bit, flipped in two counters in sequence, does not lose the source") {
  const std::uint32_t bits = GENERATE(8U, 16U, 32U);
  const std::uint64_t mask = (1ULL << bits) - 1;
  const std::uint64_t top = 1ULL << (bits - 1);
  CounterTrack track({bits, 0, SliceId(1000)});
  for (std::uint64_t number = 1000; number < 3000; ++number) {
    const bool flipped = number % 500 < 2;
    const auto placed = track.take((number & mask) ^ (flipped ? top : 0), SliceId(number + 5));
    if (!flipped) REQUIRE(placed == SliceId(number));
    // Behind two of them come two that were overtaken.
    if (number % 500 != 1) continue;
    REQUIRE(track.take((number - 4) & mask, SliceId(number - 6)) == SliceId(number - 4));
    REQUIRE(track.take((number - 3) & mask, SliceId(number - 6)) == SliceId(number - 3));
  }
  CHECK(track.counts().unanchored == 0);
}

TEST_CASE("sparse counters are placed within a third of the range") {
  CounterTrack track({16, 0, SliceId(0)});
  for (std::uint64_t number = 0; number < 1'000'000; number += 10'000)
    REQUIRE(track.take(number & 0xffff,
                       number < 20'000 ? std::nullopt : std::optional(SliceId(number - 20'000))) ==
            SliceId(number));
}

TEST_CASE("a source that joins after half a range is refused") {
  CounterTrack late({8, 0, SliceId(100)});
  CHECK(late.place(127, SliceId(100 + 127)) == SliceId(127));
  CHECK_FALSE(late.take(128, SliceId(100 + 128)).has_value());
  CounterTrack wide({48, 0, SliceId(100)});
  CHECK(wide.take(1000100, SliceId(1000099)) == SliceId(1000100));
}

TEST_CASE("a source goes on from the number at which the farm stood still") {
  CounterTrack track({8, 0, SliceId(0)});
  CHECK(track.take(182, SliceId(182)) == std::nullopt);
  track.anchor(SliceId(183));
  CHECK(track.take(222, SliceId(182)) == SliceId(222));
  CHECK(track.take(2, SliceId(222)) == SliceId(258));
  track.begin();
  CHECK(track.take(5, std::nullopt) == SliceId(5));
}

TEST_CASE("numbers above the highest one that may be named are refused") {
  CounterTrack track({64, 0, SliceId(0)});
  CHECK_FALSE(track.take(UINT64_MAX, std::nullopt).has_value());
  CHECK_FALSE(track.take(1ULL << 62U, std::nullopt).has_value());
  CHECK(track.take(5, std::nullopt) == SliceId(5));
}

TEST_CASE("sources behind and ahead of the farm by less than half a range are placed exactly") {
  std::mt19937_64 random(6101);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 400; ++round) {
    const auto bits = static_cast<std::uint32_t>(8 + below(17));
    const std::uint64_t half = 1ULL << (bits - 1);
    const std::uint64_t first = below(1ULL << 40U);
    CounterTrack track({bits, 0, SliceId(first)});
    std::uint64_t number = first;
    std::optional<SliceId> latest;
    for (int i = 0; i < 200; ++i) {
      // The farm is up to nearly half a range behind or ahead of this source.
      if (i > 0) {
        const std::uint64_t distance = below(half - 1);
        const std::uint64_t farm = below(2) == 0 ? number + distance : number - std::min(number, distance);
        if (!latest || farm > latest->value) latest = SliceId(farm);
        // Behind: never by so much that its own last number is half a range away.
        number = std::max(number + 1 + below(3), latest->value - std::min(latest->value, half / 2));
      }
      INFO("bits " << bits << " number " << number << " latest " << (latest ? latest->value : 0));
      REQUIRE(track.take(number & ((half * 2) - 1), latest) == SliceId(number));
    }
  }
}
