#include "peer_fixture.hpp"

namespace weir::messages {

TEST_CASE("a connection that never stands is given up after the timeout, and tried again") {
  Farm farm;
  farm.network.hold_connections = true;
  farm.pass();
  CHECK(farm.network.connects == 1);
  farm.pass(farm.link_limits.hello_timeout_ns);
  CHECK(farm.link_counters.silent == 1);
  farm.network.hold_connections = false;
  farm.pass(100 * kMillisecond);
  CHECK(farm.network.connects == 2);
  CHECK(farm.link.ready());
}

TEST_CASE("a link connects again after a loss, once per retry time, and says since when it is down") {
  Farm farm;
  farm.network.refuse_connections = true;
  farm.pass();
  const TimeNs first_attempt = farm.now;
  CHECK(farm.at_link.last_words == "cannot connect");
  for (int i = 0; i < 250; ++i) farm.pass();
  CHECK(farm.network.connects == 3);
  CHECK(farm.link.down_since_ns() == first_attempt);

  farm.network.refuse_connections = false;
  farm.pass(100 * kMillisecond);
  REQUIRE(farm.link.ready());
  farm.pass(kSecond);
  farm.network.break_all();
  CHECK_FALSE(farm.link.ready());
  farm.network.refuse_connections = true;
  farm.pass();
  const TimeNs lost = farm.now;
  for (int i = 0; i < 10; ++i) farm.pass(100 * kMillisecond);
  CHECK(farm.link.down_since_ns() == lost);

  farm.network.refuse_connections = false;
  farm.pass(100 * kMillisecond);
  CHECK(farm.link.ready());
  CHECK(farm.at_link.ready == 2);
  CHECK(farm.at_door.ready == 2);
}

TEST_CASE("a link that is sent elsewhere goes there at once") {
  Farm farm;
  farm.pass();
  REQUIRE(farm.link.ready());
  Side other;
  PeerCounters counters;
  Door moved(farm.door_info, other, farm.limits, counters, farm.now);
  const auto at = moved.open(farm.network, {"memory", 0});
  REQUIRE(at.has_value());
  farm.link.redirect(farm.endpoint);
  CHECK(farm.link.ready());  // that is where it is
  farm.link.redirect(*at);
  CHECK_FALSE(farm.link.ready());
  CHECK(farm.at_link.last_words == "moved to another address");
  farm.pass();
  farm.pass();
  CHECK(farm.link.ready());
  CHECK(other.ready == 1);
  CHECK(farm.link.to() == *at);
}

TEST_CASE("a link that is stopped makes no more attempts, and one without an address none at all") {
  Farm farm;
  Link nowhere(farm.link_info, farm.at_link, farm.limits, farm.link_counters, {}, kMillisecond);
  nowhere.tick(farm.network, farm.now);
  CHECK(farm.network.connects == 0);
  farm.pass();
  farm.link.stop();
  CHECK(farm.link.ready());
  farm.network.break_all();
  for (int i = 0; i < 10; ++i) farm.pass(kSecond);
  CHECK(farm.network.connects == 1);
}

}  // namespace weir::messages
