#include "weir_catch.hpp"
#include <weir/host_watch/host_watch.hpp>

using weir::DurationNs;
using weir::kMillisecond;
using weir::kSecond;
using weir::SliceId;
using weir::TimeNs;
using weir::host_watch::HostWatch;
using weir::host_watch::HostWatchSettings;
using Order = weir::host_watch::HostWatch::Order;
using State = weir::host_watch::HostWatch::State;
using Ask = weir::host_watch::HostWatch::Ask;

namespace {

constexpr HostWatchSettings kSettings{500 * kMillisecond, 2 * kSecond, kSecond, 4};

struct Host {
  HostWatch watch{kSettings};
  TimeNs now = 0;

  void run(bool asks = true) {
    REQUIRE(watch.pass(now) == Order::start);
    watch.started(now);
    watch.ready(asks);
    watch.begun(1, now);
    watch.observe({1, 1, 32});
  }
  Order wait(DurationNs how_long) {
    for (const TimeNs end = now + how_long; now < end;) {
      now += 10 * kMillisecond;
      if (const Order order = watch.pass(now); order != Order::none) return order;
    }
    return Order::none;
  }
  std::vector<SliceId> die() { return watch.ended(now); }
};

}  // namespace

TEST_CASE("a host owes the slices that it has taken or not yet taken, and not answered", "[source]") {
  Host host;
  CHECK(host.watch.announce(SliceId(1), 2, 0) == Ask::down);
  host.run();
  CHECK(host.watch.announce(SliceId(7), 2, host.now) == Ask::ask);
  CHECK(host.watch.announce(SliceId(5), 3, host.now) == Ask::ask);
  CHECK(host.watch.announce(SliceId(6), 4, host.now) == Ask::ask);
  host.watch.observe({4, 2, 100});
  CHECK(host.die() == std::vector{SliceId(5), SliceId(6)});
  CHECK(host.watch.owed() == 0);
  CHECK(host.watch.announce(SliceId(8), 5, host.now) == Ask::down);
}

TEST_CASE("a host that delivers on its own owes the latest slices, until the buffer gives them up",
          "[source]") {
  Host host;
  host.run(false);
  CHECK(host.watch.announce(SliceId(1), 2, host.now) == Ask::ask);
  host.watch.observe({2, 2, 0});
  CHECK(host.wait(kSecond) == Order::none);
  CHECK(host.watch.announce(SliceId(2), 3, host.now) == Ask::ask);
  host.watch.observe({3, 3, 0});
  CHECK(host.wait(20 * kMillisecond) == Order::none);
  CHECK(host.die() == std::vector{SliceId(2)});
}

TEST_CASE("announced slices beyond the limit are not asked", "[source]") {
  Host host;
  host.run();
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(host.watch.announce(SliceId(i), 2 + i, host.now) == Ask::ask);
  CHECK(host.watch.announce(SliceId(9), 6, host.now) == Ask::full);
  host.watch.observe({5, 2, 10});
  CHECK(host.watch.announce(SliceId(9), 6, host.now) == Ask::ask);
}

TEST_CASE("a host that delivers on its own owes only the latest slices at the limit") {
  Host host;
  host.run(false);
  for (std::uint64_t i = 0; i < 9; ++i) CHECK(host.watch.announce(SliceId(i), 2 + i, host.now) == Ask::ask);
  CHECK(host.die() == std::vector{SliceId(5), SliceId(6), SliceId(7), SliceId(8)});
}

TEST_CASE("a host without progress is ended softly, then hard", "[source]") {
  Host host;
  host.run();
  CHECK(host.wait(10 * kSecond) == Order::none);  // nothing to do is no fault
  CHECK(host.watch.announce(SliceId(1), 2, host.now) == Ask::ask);
  CHECK(host.wait(490 * kMillisecond) == Order::none);
  host.watch.observe({2, 1, 64});  // one of its fragments
  CHECK(host.wait(490 * kMillisecond) == Order::none);
  CHECK(host.wait(kSecond) == Order::kill_softly);
  CHECK(host.watch.hung());
  CHECK(host.wait(kSecond) == Order::kill);
  CHECK(host.wait(kSecond) == Order::none);
  CHECK(host.watch.state() == State::ending);
}

TEST_CASE("a readout that was stopped does not blame its host", "[source]") {
  Host host;
  host.run();
  CHECK(host.watch.announce(SliceId(1), 2, host.now) == Ask::ask);
  host.now += 60 * kSecond;
  CHECK(host.watch.pass(host.now) == Order::none);
  host.watch.observe({2, 2, 64});
  CHECK(host.wait(kSecond) == Order::none);
}

TEST_CASE("a host that is not ready in time is ended", "[source]") {
  Host host;
  REQUIRE(host.watch.pass(host.now) == Order::start);
  host.watch.started(host.now);
  CHECK(host.wait(1900 * kMillisecond) == Order::none);
  CHECK(host.wait(kSecond) == Order::kill_softly);
  CHECK(host.die().empty());
}

TEST_CASE("pauses between restarts double up to five seconds, and begin anew after a long life", "[source]") {
  Host host;
  DurationNs expected = HostWatch::kPauseMin;
  for (int life = 0; life < 10; ++life) {
    host.run();
    (void)host.die();
    CHECK(host.watch.pause_ns() == expected);
    CHECK(host.watch.pass(host.now + expected - 1) == Order::none);
    host.now += expected;
    expected = std::min(2 * expected, HostWatch::kPauseMax);
  }
  host.run();
  CHECK(host.wait(HostWatch::kSettledAfter) == Order::none);
  (void)host.die();
  CHECK(host.watch.pause_ns() == HostWatch::kPauseMin);
  host.watch.finish();
  CHECK(host.wait(kSecond) == Order::none);
}
