#include "../src/drains.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr DurationNs kBase = 130 * kMicrosecond;

}  // namespace

TEST_CASE(
    "the first drain is due a tenth of a second after the start, the next ones at doubling pauses up to 4 "
    "s") {
  Drains drains;
  TimeNs now_ns = kSecond;
  CHECK_FALSE(drains.due(now_ns));  // plans it
  for (const DurationNs pause : {100, 200, 400, 800, 1600, 3200, 4000, 4000}) {
    CHECK_FALSE(drains.due(now_ns + pause * kMillisecond - 1));
    now_ns += pause * kMillisecond;
    REQUIRE(drains.due(now_ns));
    drains.begin(now_ns, kBase);
    drains.end(now_ns);
  }
}

TEST_CASE("a drain takes a millisecond or four response times") {
  Drains drains;
  drains.begin(0, kBase);
  CHECK_FALSE(drains.over(kMillisecond - 1, false));
  CHECK(drains.over(kMillisecond, false));
  drains.end(0);
  drains.begin(0, kMillisecond);
  CHECK_FALSE(drains.over(4 * kMillisecond - 1, false));
  CHECK(drains.over(4 * kMillisecond, false));
}

TEST_CASE("every second drain asks one readout after the other for two pieces at once") {
  Drains drains;
  drains.begin(0, kBase);
  REQUIRE(drains.pairs());
  CHECK(drains.ask(3, 0) == Credit::granted);
  CHECK(drains.pair_readout() == 3);
  CHECK(drains.ask(4, 1000) == Credit::readout_full);
  CHECK(drains.ask(3, 1000) == Credit::granted);
  CHECK(drains.ask(3, 2000) == Credit::full);
  CHECK(drains.ask(4, 1000) == Credit::full);  // until both answers have arrived
  CHECK(drains.ask(4, 0) == Credit::granted);
  // The drain waits for a pair, but only up to this limit.
  CHECK_FALSE(drains.over(11 * kMillisecond - 1, true));
  CHECK(drains.over(11 * kMillisecond, true));
  drains.end(0);
  drains.begin(0, kBase);
  CHECK_FALSE(drains.pairs());
  CHECK(drains.over(kMillisecond, true));
}

TEST_CASE("a probe of foreign traffic has no pairs, and its own length") {
  Drains drains;
  drains.begin_probe(0, 30 * kMillisecond);
  CHECK_FALSE(drains.pairs());
  CHECK_FALSE(drains.over(30 * kMillisecond - 1, true));
  CHECK(drains.over(30 * kMillisecond, true));
}

}  // namespace weir::shaping
