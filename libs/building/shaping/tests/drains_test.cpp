#include "../src/drains.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr DurationNs kBase = 130 * kMicrosecond;
constexpr DurationNs kFarBase = 40 * kMillisecond;

}  // namespace

TEST_CASE(
    "the first drain is due a tenth of a second after the start, the next ones at doubling pauses up to 4 "
    "s") {
  Drains drains;
  drains.plan(kSecond, kBase, false);
  drains.plan(2 * kSecond, kBase, false);  // planned already
  TimeNs now_ns = kSecond;
  for (const DurationNs pause : {100, 200, 400, 800, 1600, 3200, 4000, 4000}) {
    CHECK_FALSE(drains.due(now_ns + pause * kMillisecond - 1));
    now_ns += pause * kMillisecond;
    REQUIRE(drains.due(now_ns));
    drains.begin(now_ns, kBase, false);
    drains.end(now_ns);
  }
}

TEST_CASE(
    "a drain takes a millisecond or four response times, and on a line one and a half in a hundred and "
    "fifty") {
  Drains drains;
  drains.begin(0, kBase, false);
  CHECK_FALSE(drains.over(kMillisecond - 1, false));
  CHECK(drains.over(kMillisecond, false));
  drains.end(0);
  drains.begin(0, kMillisecond, false);
  CHECK_FALSE(drains.over(4 * kMillisecond - 1, false));
  CHECK(drains.over(4 * kMillisecond, false));

  Drains far;
  far.plan(0, kFarBase, true);
  CHECK_FALSE(far.due(100 * kFarBase - 1));
  far.begin(0, kFarBase, true);
  CHECK_FALSE(far.pairs());
  CHECK_FALSE(far.over(3 * kFarBase / 2 - 1, true));
  CHECK(far.over(3 * kFarBase / 2, true));
  far.end(0);
  CHECK_FALSE(far.due(150 * kFarBase - 1));
}

TEST_CASE("every second drain asks one readout after the other for two pieces at once") {
  Drains drains;
  drains.begin(0, kBase, false);
  REQUIRE(drains.pairs());
  CHECK(drains.ask(3, 0) == Credit::granted);
  CHECK(drains.pair_readout() == 3);
  CHECK(drains.ask(4, 1000) == Credit::readout_full);
  CHECK(drains.ask(3, 1000) == Credit::granted);
  CHECK(drains.ask(3, 2000) == Credit::full);
  CHECK(drains.ask(4, 1000) == Credit::full);  // until both answers have arrived
  CHECK(drains.ask(4, 0) == Credit::granted);
  // The drain waits for a pair, but only up to this limit.
  CHECK_FALSE(drains.over(12 * kMillisecond, true));
  CHECK(drains.over(13 * kMillisecond, true));
  drains.end(0);
  drains.begin(0, kBase, false);
  CHECK_FALSE(drains.pairs());
  CHECK(drains.over(kMillisecond, true));
}

TEST_CASE("a probe of foreign traffic has no pairs, and its own length") {
  Drains drains;
  drains.begin_probe(0, kBase, false, 30 * kMillisecond);
  CHECK_FALSE(drains.pairs());
  CHECK_FALSE(drains.over(30 * kMillisecond - 1, true));
  CHECK(drains.over(30 * kMillisecond, true));
}

}  // namespace weir::shaping
