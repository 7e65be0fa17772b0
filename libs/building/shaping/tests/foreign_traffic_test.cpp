#include "../src/foreign_traffic.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr double kAlone = 0.025;  // bytes per ns: 200 Mb/s
constexpr double kWindow = 50e3;
constexpr DurationNs kEpoch = 20 * kMillisecond;

// Names of the advice after an epoch.
enum class Advice : std::uint8_t { none, hold, probe, push, unpush };

// A port, epoch by epoch: the rate as a share of the rate without foreign traffic.
struct Port {
  ForeignTraffic foreign;
  TimeNs now_ns = kSecond;
  double window = kWindow;
  double advised = 0;

  Port() { foreign.alone(kAlone); }
  Advice epoch(double share) {
    const ForeignTraffic::Advice advice = foreign.epoch(share * kAlone, window, now_ns += kEpoch);
    advised = advice.window;
    if (advice.probe) return Advice::probe;
    if (advised == 0 || advised == window) return advised == 0 ? Advice::none : Advice::hold;
    return advised > window ? Advice::push : Advice::unpush;
  }
  Advice epochs(int count, double share) {
    Advice advice = Advice::none;
    for (int i = 0; i < count; ++i) advice = epoch(share);
    return advice;
  }
  // Runs until the machine gives advice.
  Advice until_advice(double share) {
    for (int i = 0; i < 500; ++i) {
      const Advice advice = epoch(share);
      if (advice != Advice::none && advice != Advice::hold) return advice;
    }
    return Advice::none;
  }
  // A probe with answers that wait behind this many bytes.
  void probe(double bytes) {
    foreign.begin_probe(now_ns);
    CHECK_FALSE(foreign.probes(now_ns - 1));
    CHECK(foreign.probes(now_ns));
    foreign.note_answer(bytes + 5000);
    foreign.note_answer(bytes);
    foreign.end_probe(now_ns);
    CHECK_FALSE(foreign.probes(now_ns));
  }
  void meet_foreign() {
    REQUIRE(until_advice(0.2) == Advice::probe);
    probe(200e3);
  }
  void push_foreign() {
    meet_foreign();
    REQUIRE(until_advice(0.2) == Advice::push);
    CHECK(advised == 2 * window);
    window = advised;
  }
};

}  // namespace

TEST_CASE("a full port, and one of unknown rate, have no foreign traffic") {
  Port port;
  CHECK(port.epochs(100, 0.9) == Advice::none);
  CHECK(port.epochs(100, 0.5) == Advice::none);  // a fair half
  ForeignTraffic nothing_known;
  CHECK(nothing_known.epoch(0.001, kWindow, kSecond).window == 0);
}

TEST_CASE("if little data arrives without a loss, a probe shows whether the port has become slower") {
  Port port;
  const TimeNs begun_ns = port.now_ns;
  CHECK(port.until_advice(0.3) == Advice::probe);
  CHECK(port.now_ns - begun_ns <= 400 * kMillisecond);
  port.probe(3000);
  CHECK(port.epochs(300, 0.3) == Advice::none);  // the lower rate is the port's own
}

TEST_CASE("a flow that fills the buffer is met even if no more is lost") {
  Port port;
  REQUIRE(port.until_advice(0.2) == Advice::probe);
  port.probe(200e3);
  CHECK(port.until_advice(0.2) == Advice::push);
}

TEST_CASE("foreign traffic is pushed while that gains rate, up to half of the port") {
  Port port;
  port.push_foreign();
  REQUIRE(port.until_advice(0.3) == Advice::push);
  port.window = port.advised;
  CHECK(port.epoch(0.5) == Advice::hold);
  // Without success: the previous window, which is kept after four attempts.
  for (int i = 0; i < 4; ++i) {
    const double before = port.window;
    REQUIRE(port.until_advice(0.3) == Advice::push);
    port.window = port.advised;
    REQUIRE(port.until_advice(0.3) == Advice::unpush);
    CHECK(port.advised == before);
    port.window = port.advised;
  }
  const TimeNs since_ns = port.now_ns;
  Advice advice = port.until_advice(0.3);
  while (advice == Advice::probe) {
    port.probe(200e3);
    advice = port.until_advice(0.3);
  }
  CHECK(advice == Advice::push);
  CHECK(port.now_ns - since_ns >= 4 * kSecond);
}

TEST_CASE("foreign traffic that ends leaves the window to the port") {
  Port port;
  port.push_foreign();
  CHECK(port.epoch(0.55) == Advice::hold);
  CHECK(port.epoch(0.9) == Advice::none);
  CHECK_FALSE(port.foreign.there());
  CHECK(port.epochs(100, 0.9) == Advice::none);
}

TEST_CASE("foreign traffic that becomes quiet is found out by a later probe") {
  Port port;
  port.push_foreign();
  CHECK(port.until_advice(0.7) == Advice::probe);  // less is left for others, but none fills the buffer
  port.probe(0);
  CHECK(port.epochs(100, 0.7) == Advice::none);
}

TEST_CASE("a probe without any answer found a full buffer, and one that was cut short found nothing") {
  Port port;
  port.foreign.begin_probe(port.now_ns);
  port.foreign.cancel_probe();
  port.foreign.end_probe(port.now_ns);
  CHECK_FALSE(port.foreign.there());
  port.foreign.begin_probe(port.now_ns);
  port.foreign.end_probe(port.now_ns);
  CHECK(port.foreign.there());
}

}  // namespace weir::shaping
