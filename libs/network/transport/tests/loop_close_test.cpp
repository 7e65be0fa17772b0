#include "loop_fixture.hpp"

namespace weir::transport {

TEST_CASE("the last bytes before a close arrive, and only the peer is notified of the end") {
  Pair pair;
  pair.client.say("that was ");
  pair.client.say("all");
  pair.client.stream->close();
  REQUIRE(pair.until([&] { return pair.far().closed > 0; }));
  CHECK(pair.far().text == "that was all");
  CHECK(pair.far().reason == ports::CloseReason::peer_closed);
  CHECK(pair.client.closed == 0);
}

TEST_CASE("a destroyed stream also sends its last bytes") {
  Pair pair;
  pair.client.say("bye");
  pair.client.stream.reset();
  REQUIRE(pair.until([&] { return pair.far().closed > 0; }));
  CHECK(pair.far().text == "bye");
}

TEST_CASE("a handler that rejects received bytes is notified of a protocol error, once") {
  Pair pair;
  pair.far().good = false;
  pair.client.say("garbage");
  REQUIRE(pair.until([&] { return pair.client.closed > 0; }));
  CHECK(pair.far().reason == ports::CloseReason::protocol_error);
  CHECK(pair.far().closed == 1);
  pair.far().say("this is never delivered");
  pair.far().say("and it is not kept");
  CHECK(pair.far().stream->unsent_bytes() <= 18);
}

TEST_CASE("streams may be closed and destroyed from inside any call") {
  Pair pair;
  Party& far = pair.far();
  SECTION("its own, on received bytes") {
    far.at_received = [&] { far.stream.reset(); };
    pair.client.say("x");
  }
  SECTION("its own, when drained") {
    far.at_drained = [&] { far.stream.reset(); };
    far.say("y");
  }
  SECTION("the other end's, on received bytes") {
    far.at_received = [&] {
      pair.client.stream.reset();
      ++pair.client.closed;  // it receives no further calls
    };
    pair.client.say("x");
    REQUIRE(pair.until([&] { return far.closed > 0; }));
  }
  SECTION("its own, when it hears that it is closed") {
    pair.client.at_closed = [&] { pair.client.stream.reset(); };
    far.stream->close();
  }
  REQUIRE(pair.until([&] { return pair.client.closed > 0; }));
  CHECK(far.closed + pair.client.closed <= 2);
}

TEST_CASE("a stream closed when it connects is closed for the other side") {
  Loop loop{SocketPolicy{}};
  Server server;
  Party client;
  client.at_connected = [&] { client.stream->close(); };
  client.stream = loop.connect(server.open(loop), client);
  REQUIRE(run_until({&loop}, [&] { return !server.parties.empty() && server.first().closed > 0; }));
  CHECK(client.closed == 0);
}

TEST_CASE("a stream that is destroyed while it connects is forgotten") {
  Loop loop{SocketPolicy{}};
  Server server;
  const auto at = server.open(loop);
  for (int i = 0; i < 20; ++i) {
    Party client;
    client.stream = loop.connect({i % 2 == 0 ? "127.0.0.1" : "localhost", at.port}, client);
    if (i % 4 < 2) loop.run_once([](TimeNs) {}, 0);
  }
  Party last;
  last.stream = loop.connect(at, last);
  CHECK(run_until({&loop}, [&] { return last.connected; }));
}

TEST_CASE("streams that outlive their loop are closed, and take calls") {
  Party client;
  Party far;
  {
    Loop loop{SocketPolicy{}};
    Server server;
    client.stream = loop.connect(server.open(loop), client);
    REQUIRE(run_until({&loop}, [&] { return client.connected && !server.parties.empty(); }));
    client.say("never flushed");
    far.stream = std::move(server.first().stream);
    far.stream->append_reference(server.first().spill, nullptr);
  }
  client.say("more");
  client.stream->pause_receiving(true);
  client.stream->pause_receiving(false);
  CHECK(client.stream->counters().bytes_sent == 0);
  client.stream->close();
  far.stream.reset();
  CHECK(client.closed == 0);
}

}  // namespace weir::transport
