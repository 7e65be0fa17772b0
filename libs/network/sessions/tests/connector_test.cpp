#include "peer_fixture.hpp"

namespace weir::sessions {

TEST_CASE("a connection that is never established is given up after the timeout, and tried again") {
  Farm farm;
  farm.network.hold_connections = true;
  farm.pass();
  CHECK(farm.network.connects == 1);
  farm.pass(farm.connector_limits.hello_timeout_ns);
  CHECK(farm.connector_counters.silent == 1);
  farm.network.hold_connections = false;
  farm.pass(100 * kMillisecond);
  CHECK(farm.network.connects == 2);
  CHECK(farm.connector.ready());
}

TEST_CASE("a connector reconnects after a loss, once per retry time, and reports since when it is down") {
  Farm farm;
  farm.network.refuse_connections = true;
  farm.pass();
  const TimeNs first_attempt = farm.now;
  CHECK(farm.at_connector.last_words == "cannot connect");
  for (int i = 0; i < 250; ++i) farm.pass();
  CHECK(farm.network.connects == 3);
  CHECK(farm.connector.down_since_ns() == first_attempt);

  farm.network.refuse_connections = false;
  farm.pass(100 * kMillisecond);
  REQUIRE(farm.connector.ready());
  farm.pass(kSecond);
  farm.network.break_all();
  CHECK_FALSE(farm.connector.ready());
  farm.network.refuse_connections = true;
  farm.pass();
  const TimeNs lost = farm.now;
  for (int i = 0; i < 10; ++i) farm.pass(100 * kMillisecond);
  CHECK(farm.connector.down_since_ns() == lost);

  farm.network.refuse_connections = false;
  farm.pass(100 * kMillisecond);
  CHECK(farm.connector.ready());
  CHECK(farm.at_connector.ready == 2);
  CHECK(farm.at_listener.ready == 2);
}

TEST_CASE("a connector with a new address connects there immediately") {
  Farm farm;
  farm.pass();
  REQUIRE(farm.connector.ready());
  Side other;
  PeerCounters counters;
  SessionListener moved(farm.listener_info, other, farm.limits, counters, farm.now);
  const auto at = moved.open(farm.network, {"memory", 0});
  REQUIRE(at.has_value());
  farm.connector.redirect(farm.endpoint);
  CHECK(farm.connector.ready());  // its current address
  farm.connector.redirect(*at);
  CHECK_FALSE(farm.connector.ready());
  CHECK(farm.at_connector.last_words == "moved to another address");
  farm.pass();
  farm.pass();
  CHECK(farm.connector.ready());
  CHECK(other.ready == 1);
  CHECK(farm.connector.to() == *at);
}

TEST_CASE("a stopped connector makes no more attempts, and one without an address none") {
  Farm farm;
  Connector nowhere(farm.connector_info, farm.at_connector, farm.limits, farm.connector_counters, {},
                    kMillisecond);
  nowhere.tick(farm.network, farm.now);
  CHECK(farm.network.connects == 0);
  farm.pass();
  farm.connector.stop();
  CHECK(farm.connector.ready());
  farm.network.break_all();
  for (int i = 0; i < 10; ++i) farm.pass(kSecond);
  CHECK(farm.network.connects == 1);
}

}  // namespace weir::sessions
