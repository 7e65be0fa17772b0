#include "../src/ways.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr std::uint64_t kOwed = 40'000;
constexpr DurationNs kPause = 300 * kMillisecond;

// The readout owes bytes, is silent for kPause, and answers at this time.
void pause(Ways& ways, TimeNs until_ns) {
  ways.owes(0, 0, until_ns - kPause);
  ways.owes(0, kOwed, until_ns - kPause);
  ways.arrived(0, 1000, until_ns);
}

}  // namespace

TEST_CASE("a silence before a loss is reported once") {
  Ways ways(2);
  pause(ways, kSecond);
  ways.arrived(0, 1000, kSecond + kMillisecond);
  CHECK(ways.take_gap(0, kSecond + 20 * kMillisecond) == kPause);
  ways.arrived(0, 1000, kSecond + 30 * kMillisecond);
  CHECK(ways.take_gap(0, kSecond + 30 * kMillisecond) == 29 * kMillisecond);
  CHECK(ways.take_gap(1, kSecond + 30 * kMillisecond) == 0);
}

TEST_CASE("a silence that still lasts is reported") {
  Ways ways(1);
  ways.owes(0, kOwed, kSecond);
  CHECK(ways.take_gap(0, kSecond + kPause) == kPause);
}

TEST_CASE("an old pause is not attributed to a new loss") {
  Ways ways(1);
  pause(ways, kSecond);
  TimeNs now_ns = kSecond;
  for (int i = 0; i < 1000; ++i) ways.arrived(0, 1000, now_ns += kMillisecond);
  CHECK(ways.take_gap(0, now_ns) <= kMillisecond);

  // Nothing has arrived since then, and nothing is owed.
  pause(ways, 3 * kSecond);
  ways.owes(0, 0, 3 * kSecond);
  CHECK(ways.take_gap(0, 5 * kSecond) == 0);
}

}  // namespace weir::shaping
