#include "../src/stranger.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr double kAlone = 0.025;  // bytes per ns: 200 Mb/s
constexpr double kWindow = 50e3;
constexpr DurationNs kEpoch = 20 * kMillisecond;
using Advice = Stranger::Advice;

// A port, epoch by epoch: what comes as a share of what came alone.
struct Port {
  Stranger stranger;
  TimeNs now_ns = kSecond;
  double window = kWindow;

  Port() { stranger.alone(kAlone); }
  Advice epoch(double share) { return stranger.epoch(share * kAlone, window, now_ns += kEpoch); }
  Advice epochs(int count, double share) {
    Advice advice = Advice::none;
    for (int i = 0; i < count; ++i) advice = epoch(share);
    return advice;
  }
  // Until it advises something.
  Advice until_advice(double share) {
    for (int i = 0; i < 500; ++i) {
      const Advice advice = epoch(share);
      if (advice != Advice::none && advice != Advice::hold) return advice;
    }
    return Advice::none;
  }
  void meet_stranger() {
    stranger.lost(now_ns);
    REQUIRE(until_advice(0.2) == Advice::probe);
    stranger.probed(200e3, now_ns);
  }
};

}  // namespace

TEST_CASE("a full port, and one whose own rate is not known, have no stranger") {
  Port port;
  CHECK(port.epochs(100, 0.9) == Advice::none);
  CHECK(port.epochs(100, 0.5) == Advice::none);  // a fair half
  Stranger nothing_known;
  nothing_known.lost(kSecond);
  CHECK(nothing_known.epoch(0.001, kWindow, kSecond) == Advice::none);
}

TEST_CASE("where little comes and nothing is lost the port has become slower, after a second") {
  Port port;
  const TimeNs begun_ns = port.now_ns;
  CHECK(port.until_advice(0.3) == Advice::slower);
  CHECK(port.now_ns - begun_ns >= kSecond);
  CHECK(port.now_ns - begun_ns <= kSecond + 2 * kEpoch);
}

TEST_CASE("where data is lost a probe tells whether somebody fills the buffer") {
  Port port;
  port.stranger.lost(port.now_ns);
  CHECK(port.epoch(0.2) == Advice::none);
  CHECK(port.epoch(0.2) == Advice::probe);
  port.stranger.probed(3000, port.now_ns);
  CHECK_FALSE(port.stranger.there());
  CHECK(port.until_advice(0.2) == Advice::slower);

  Port other;
  other.meet_stranger();
  CHECK(other.stranger.there());
  CHECK(other.until_advice(0.2) == Advice::push);
}

TEST_CASE("a stranger is pushed for as long as that gains rate, up to half of the port") {
  Port port;
  port.meet_stranger();
  REQUIRE(port.until_advice(0.2) == Advice::push);
  port.window *= 1.5;
  REQUIRE(port.until_advice(0.3) == Advice::push);
  port.window *= 1.5;
  CHECK(port.epoch(0.5) == Advice::hold);
  // In vain: the window of before, which is kept after five.
  for (int i = 0; i < 5; ++i) {
    REQUIRE(port.until_advice(0.3) == Advice::push);
    REQUIRE(port.until_advice(0.3) == Advice::unpush);
    CHECK(port.stranger.before_push() == port.window);
  }
  const TimeNs since_ns = port.now_ns;
  Advice advice = port.until_advice(0.3);
  while (advice == Advice::probe) {
    port.stranger.probed(200e3, port.now_ns);
    advice = port.until_advice(0.3);
  }
  CHECK(advice == Advice::push);
  CHECK(port.now_ns - since_ns >= 2 * kSecond);
}

TEST_CASE("a stranger that goes leaves the window as it was before") {
  Port port;
  port.meet_stranger();
  REQUIRE(port.until_advice(0.2) == Advice::push);
  port.window *= 1.5;
  CHECK(port.epoch(0.55) == Advice::hold);
  CHECK(port.epoch(0.9) == Advice::gone);
  CHECK(port.stranger.before_all() == kWindow);
  CHECK(port.epochs(100, 0.9) == Advice::none);
}

TEST_CASE("a stranger that becomes quiet is found out by a later probe") {
  Port port;
  port.meet_stranger();
  REQUIRE(port.until_advice(0.2) == Advice::push);
  CHECK(port.until_advice(0.7) == Advice::probe);  // less is there for others, but nobody fills the buffer
  port.stranger.probed(0, port.now_ns);
  CHECK(port.epochs(100, 0.7) == Advice::none);
}

}  // namespace weir::shaping
