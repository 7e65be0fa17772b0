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

TEST_CASE("an attempt without an answer is repeated sooner than TCP does, three times, then left to TCP") {
  Farm farm;
  farm.connector.set_patience(150 * kMillisecond);
  farm.network.hold_connections = true;
  const auto pass = [&](DurationNs for_ns) {
    for (const TimeNs end = farm.now + for_ns; farm.now < end;) farm.pass(10 * kMillisecond);
  };
  pass(140 * kMillisecond);
  CHECK(farm.network.connects == 1);
  pass(40 * kMillisecond);
  CHECK(farm.network.connects == 2);
  pass(kSecond);  // 300 and 600 ms
  CHECK(farm.network.connects == 4);
  pass(kSecond);
  CHECK(farm.network.connects == 4);
  CHECK(farm.connector_counters.silent == 0);
  farm.network.hold_connections = false;
  farm.pass();
  farm.pass();
  CHECK(farm.connector.ready());
  CHECK(farm.at_listener.ready == 1);  // not for the attempts that were given up
  // An answer makes it as patient as at first.
  farm.network.break_all();
  farm.network.hold_connections = true;
  pass(200 * kMillisecond);
  CHECK(farm.network.connects == 5);
  pass(150 * kMillisecond);
  CHECK(farm.network.connects == 6);
}

TEST_CASE("a host that answers without a hello is not tried again before its time") {
  struct Mute final : ports::Acceptor, ports::StreamHandler {
    ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> accepted) override {
      streams.push_back(std::move(accepted));
      return this;
    }
    ports::ReceiveSpace receive_space() override { return {Bytes(space), Bytes{}}; }
    bool on_received(std::size_t) override { return true; }
    void on_closed(ports::CloseReason) override {}
    std::vector<std::unique_ptr<ports::Stream>> streams;
    std::vector<std::byte> space = std::vector<std::byte>(4096);
  };
  Farm farm;
  Mute mute;
  const auto listener = farm.network.listen({"memory", 0}, mute);
  REQUIRE(listener.has_value());
  farm.connector.set_patience(150 * kMillisecond);
  farm.connector.redirect((*listener)->endpoint());
  for (int i = 0; i < 100; ++i) farm.pass(10 * kMillisecond);
  CHECK(mute.streams.size() == 1);
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
