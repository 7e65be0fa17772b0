#include "raw_client.hpp"
#include "weir_catch.hpp"
#include <weir/http/server.hpp>

using namespace weir;
using namespace weir::http;
using Catch::ContainsSubstring;
using test::RawClient;

namespace {

constexpr const char* kAsk = "GET /events HTTP/1.1\r\nHost: x\r\n\r\n";

std::unique_ptr<Server> stream_server(const Limits& limits = {}) {
  auto server = std::make_unique<Server>(ports::Endpoint{"127.0.0.1", 0}, limits);
  server->stream("/events", [](const HttpRequest&) { return event_text("hello", "now"); });
  server->stream("/other");
  server->start();
  return server;
}

}  // namespace

TEST_CASE("every client of a stream receives its greeting, then the stream's events in order") {
  const auto server = stream_server();
  RawClient one(server->endpoint());
  RawClient two(server->endpoint());
  one.send(kAsk);
  two.send(kAsk);
  CHECK_THAT(one.until("now\n\n"), ContainsSubstring("text/event-stream"));
  two.until("now\n\n");
  server->publish("/other", "state", "not yours");
  for (int i = 0; i < 100; ++i) server->publish("/events", "state", std::to_string(i));
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += event_text("state", std::to_string(i));
  CHECK(one.until("\n\n", 100) == expected);
  CHECK(two.until("\n\n", 100) == expected);
  CHECK(server->counters().event_clients == 2);
  CHECK(server->counters().events_sent == 200);
}

TEST_CASE("a client that is too slow is dropped and counted, and the others continue") {
  Limits limits;
  limits.event_queue_bytes_max = 200'000;
  const auto server = stream_server(limits);
  RawClient deaf(server->endpoint(), 4096);
  RawClient good(server->endpoint());
  deaf.send(kAsk);
  good.send(kAsk);
  deaf.until("now\n\n");
  good.until("now\n\n");
  const std::string large(50'000, 'x');
  for (int i = 0; i < 400 && server->counters().event_clients_dropped == 0; ++i) {
    server->publish("/events", "large", large);
    REQUIRE(good.until("\n\n").size() > large.size());
  }
  CHECK(server->counters().event_clients_dropped == 1);
  CHECK(server->counters().event_clients == 1);
}

TEST_CASE("the number of clients is limited, and a place is free again when one leaves") {
  Limits limits;
  limits.event_clients_max = 1;
  const auto server = stream_server(limits);
  {
    RawClient first(server->endpoint());
    first.send(kAsk);
    first.until("now\n\n");
    RawClient second(server->endpoint());
    second.send(kAsk);
    CHECK_THAT(second.rest(), ContainsSubstring("503"));
    CHECK(server->counters().event_clients_refused == 1);
  }
  bool again = false;
  for (int i = 0; i < 2000 && !again; ++i) {
    RawClient later(server->endpoint());
    later.send(kAsk);
    again = later.until("\n\n").find("event: hello") != std::string::npos;
  }
  CHECK(again);
}

TEST_CASE("an address that holds all streams makes room for another address") {
  Limits limits;
  limits.event_clients_max = 2;
  const auto server = stream_server(limits);
  RawClient first(server->endpoint());
  RawClient second(server->endpoint());
  for (RawClient* greedy : {&first, &second}) {
    greedy->send(kAsk);
    greedy->until("now\n\n");
  }
  RawClient other(server->endpoint(), 0, "127.0.0.2");
  other.send(kAsk);
  CHECK_THAT(other.until("now\n\n"), ContainsSubstring("event: hello"));
  first.rest();
  CHECK(first.ended());
  CHECK(server->counters().event_clients == 2);
  CHECK(server->counters().made_room == 1);
}

TEST_CASE("a quiet stream sends signs of life") {
  Limits limits;
  limits.event_idle_ns = 50 * kMillisecond;
  const auto server = stream_server(limits);
  RawClient client(server->endpoint());
  client.send(kAsk);
  CHECK_THAT(client.until(":\n\n", 2), ContainsSubstring("now"));
}

TEST_CASE("a server ends while clients listen") {
  auto server = stream_server();
  RawClient client(server->endpoint());
  client.send(kAsk);
  client.until("now\n\n");
  server->publish("/events", "last", "1");
  server.reset();
  client.rest();
  CHECK(client.ended());
}
