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

TEST_CASE(
    "requests over a longer line follow each other at its pace, or at an equal part of the port's rate") {
  constexpr double kPortRate = 0.025;  // bytes per ns: 200 Mb/s
  constexpr double kFair = kPortRate / 4;
  constexpr DurationNs kFarAway = 40 * kMillisecond;
  Ways ways(4);
  ways.responded(0, kMillisecond, kMillisecond);
  ways.responded(3, kFarAway, kFarAway);
  ways.measure(kMillisecond, kPortRate, kFair, 0);
  ways.arrived(3, 10'000, kFarAway);  // much less than its part
  ways.measure(kMillisecond, kPortRate, kFair, kFarAway);
  CHECK(ways.on_line(0) == 0);
  CHECK(ways.on_line(3) > 240'000);  // 39 ms of a quarter of the port's rate
  CHECK(ways.on_lines() == ways.on_line(3));

  ways.owes(0, kOwed, kSecond);
  ways.owes(3, kOwed, kSecond);
  const auto asked_within = [&](std::uint32_t readout, DurationNs length_ns) {
    std::uint64_t bytes = 0;
    for (TimeNs now_ns = kSecond; now_ns <= kSecond + length_ns; now_ns += 100 * kMicrosecond) {
      while (bytes < 10'000'000 && ways.may_ask(readout, now_ns)) {
        ways.asked(readout, 5000, now_ns);
        bytes += 5000;
      }
    }
    return bytes;
  };
  CHECK(asked_within(0, 0) == 10'000'000);
  CHECK(asked_within(3, 0) < 30'000);
  const std::uint64_t more = asked_within(3, 100 * kMillisecond);
  CHECK(more > 625'000);  // a quarter of 2.5 MB
  CHECK(more < 1'250'000);
}

}  // namespace weir::shaping
