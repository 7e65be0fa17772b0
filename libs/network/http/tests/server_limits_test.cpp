#include "raw_client.hpp"
#include "weir_catch.hpp"
#include <weir/http/server.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::http;
using Catch::ContainsSubstring;
using test::RawClient;

namespace {

std::unique_ptr<Server> server_with(const Limits& limits) {
  auto server = std::make_unique<Server>(ports::Endpoint{"127.0.0.1", 0}, limits);
  server->route("GET", "/", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "here", {}}; });
  server->route("POST", "/", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "taken", {}}; });
  server->route("GET", "/large", [](const HttpRequest&) {
    constexpr std::size_t kLarge = 64U << 20;
    return HttpResponse{200, "text/plain", std::string(kLarge, 'x'), {}};
  });
  server->start();
  return server;
}

// A client sees its connection closed before the server has counted it, so this polls the counter.
std::uint64_t timeouts(const Server& server, std::uint64_t expected) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (server.counters().timeouts < expected && std::chrono::steady_clock::now() < until) {
    RawClient other(server.endpoint());
    other.send("GET / HTTP/1.0\r\n\r\n");
    other.rest();
  }
  return server.counters().timeouts;
}

}  // namespace

TEST_CASE("headers and bodies beyond their limits are refused with their status") {
  Limits limits;
  limits.header_bytes_max = 1024;
  limits.body_bytes_max = 100;
  const auto server = server_with(limits);
  RawClient headers(server->endpoint());
  headers.send("GET / HTTP/1.1\r\nX: " + std::string(4000, 'x') + "\r\n\r\n");
  CHECK_THAT(headers.rest(), ContainsSubstring("431"));
  RawClient body(server->endpoint());
  body.send("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'));
  CHECK_THAT(body.rest(), ContainsSubstring("413"));
  RawClient chunks(server->endpoint());
  chunks.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20; ++i) chunks.send("10\r\n0123456789abcdef\r\n");
  CHECK_THAT(chunks.rest(), ContainsSubstring("413"));
  CHECK(server->counters().too_large == 3);
  RawClient fits(server->endpoint());
  fits.send("POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x'));
  CHECK_THAT(fits.rest(), ContainsSubstring("taken"));
}

TEST_CASE("an incomplete request is given up, and counted") {
  Limits limits;
  limits.request_timeout_ns = 200 * kMillisecond;
  const auto server = server_with(limits);
  RawClient slow(server->endpoint());
  slow.send("GET / HTTP/1.1\r\nHo");
  slow.rest();
  CHECK(slow.ended());
  CHECK(timeouts(*server, 1) == 1);
}

TEST_CASE("an idle connection is closed without being counted as a fault") {
  Limits limits;
  limits.idle_timeout_ns = 200 * kMillisecond;
  const auto server = server_with(limits);
  RawClient idle(server->endpoint());
  idle.send("GET / HTTP/1.1\r\n\r\n");
  CHECK_THAT(idle.rest(), ContainsSubstring("here"));
  CHECK(idle.ended());
  CHECK(server->counters().timeouts == 0);
}

TEST_CASE("a client that does not take its response is given up") {
  Limits limits;
  limits.send_timeout_ns = 300 * kMillisecond;
  const auto server = server_with(limits);
  RawClient deaf(server->endpoint(), 4096);
  deaf.send("GET /large HTTP/1.1\r\n\r\n");
  CHECK(timeouts(*server, 1) == 1);
}

TEST_CASE("silent connections beyond the limit displace each other, and no client loses a response") {
  Limits limits;
  limits.connections_max = 8;
  const auto server = server_with(limits);
  RawClient client(server->endpoint());
  client.send("GET / HTTP/1.1\r\n\r\n");
  client.until("here");
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 100; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server->endpoint()));
    if (i % 2 == 0) strangers.back()->send("GET / HTTP/1.1\r\nHo");  // half a request does not count as one
  }
  for (int i = 0; i < 3; ++i) {
    client.send("GET / HTTP/1.1\r\n\r\n");
    CHECK_THAT(client.until("here"), ContainsSubstring("200"));
    RawClient other(server->endpoint());
    other.send("GET / HTTP/1.0\r\n\r\n");
    CHECK_THAT(other.rest(), ContainsSubstring("here"));
  }
  strangers.front()->rest();
  CHECK(strangers.front()->ended());
  CHECK(server->counters().refused_full == 0);
  CHECK(server->counters().made_room >= 93);
  CHECK(server->counters().connections <= 8);
}

TEST_CASE("idle connections, and clients that read no response, make room as well") {
  Limits limits;
  limits.connections_max = 4;
  const auto server = server_with(limits);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 8; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server->endpoint(), 4096));
    strangers.back()->send(i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : "GET /large HTTP/1.1\r\n\r\n");
    strangers.back()->until(i % 2 == 0 ? "here" : "xxx");
  }
  RawClient client(server->endpoint());
  client.send("GET / HTTP/1.0\r\n\r\n");
  CHECK_THAT(client.rest(), ContainsSubstring("here"));
  CHECK(server->counters().refused_full == 0);
  CHECK(server->counters().made_room == 5);
}

TEST_CASE(
    "if all connections are streams, one is closed with the reason, and there is room again when one "
    "leaves") {
  Limits limits;
  limits.connections_max = 2;
  Server server(ports::Endpoint{"127.0.0.1", 0}, limits);
  server.stream("/events", [](const HttpRequest&) { return event_text("hello", "now"); });
  server.route("GET", "/", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "here", {}}; });
  server.start();
  const std::string listen = "GET /events HTTP/1.1\r\n\r\n";
  RawClient first(server.endpoint());
  first.send(listen);
  first.until("now");
  {
    RawClient second(server.endpoint());
    second.send(listen);
    second.until("now");
    RawClient third(server.endpoint());
    CHECK_THAT(third.rest(), ContainsSubstring("503"));
    CHECK(server.counters().refused_full == 1);
  }
  bool again = false;
  for (int i = 0; i < 2000 && !again; ++i) {
    RawClient later(server.endpoint());
    later.send("GET / HTTP/1.0\r\n\r\n");
    again = later.rest().find("here") != std::string::npos;
  }
  CHECK(again);
}
