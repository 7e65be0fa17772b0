#include "weir_catch.hpp"
#include <weir/base/awake_clock.hpp>

#include <random>

using namespace weir;

namespace {

constexpr TimeNs kStart = 1'000 * kSecond;

}  // namespace

TEST_CASE("a clock of a process that is awake is the monotonic clock") {
  AwakeClock clock;
  TimeNs now = kStart;
  for (const DurationNs step : {DurationNs{0}, kMillisecond, 100 * kMillisecond, AwakeClock::kGapMax}) {
    now += step;
    CHECK(clock.at(now) == now);
  }
  CHECK(clock.left_out_ns() == 0);
}

TEST_CASE("a pause counts as the longest gap, however long it lasts") {
  const DurationNs pause = GENERATE(300 * kMillisecond, 35 * kSecond, 12 * 3600 * kSecond);
  AwakeClock clock;
  CHECK(clock.at(kStart) == kStart);
  CHECK(clock.at(kStart + pause) == kStart + AwakeClock::kGapMax);
  CHECK(clock.left_out_ns() == pause - AwakeClock::kGapMax);
  // It goes on from there at the speed of the monotonic clock.
  CHECK(clock.at(kStart + pause + kMillisecond) == kStart + AwakeClock::kGapMax + kMillisecond);
  CHECK(clock.at(kStart + 2 * pause + kMillisecond) == kStart + 2 * AwakeClock::kGapMax + kMillisecond);
}

TEST_CASE("an older time, read by another thread, changes nothing") {
  AwakeClock clock;
  (void)clock.at(kStart);
  const TimeNs after = clock.at(kStart + 5 * kSecond);
  CHECK(clock.at(kStart + kSecond) == after);
  CHECK(clock.at(kStart + 5 * kSecond) == after);
}

TEST_CASE("of any times the clock never decreases, never runs faster, and counts no gap beyond the longest") {
  std::mt19937_64 random(GENERATE(range(1, 20)));
  AwakeClock clock;
  TimeNs now = kStart;
  TimeNs last = clock.at(now);
  for (int i = 0; i < 1'000; ++i) {
    const DurationNs step =
        static_cast<DurationNs>(random() % (random() % 10 == 0 ? 100 * kSecond : kMillisecond));
    now += step;
    const TimeNs at = clock.at(now);
    CHECK(at - last == std::min(step, AwakeClock::kGapMax));
    CHECK(at + clock.left_out_ns() == now);
    last = at;
  }
}

TEST_CASE("a pause is reported once, with its length") {
  PauseWatch watch;
  CHECK_FALSE(watch.look(0));
  CHECK_FALSE(watch.look(PauseWatch::kReportedMin - AwakeClock::kGapMax - 1));
  const auto pause = watch.look(PauseWatch::kReportedMin - AwakeClock::kGapMax - 1 + 35 * kSecond);
  REQUIRE(pause);
  CHECK(*pause == 35 * kSecond + AwakeClock::kGapMax);
  CHECK_FALSE(watch.look(PauseWatch::kReportedMin - AwakeClock::kGapMax - 1 + 35 * kSecond));
}
