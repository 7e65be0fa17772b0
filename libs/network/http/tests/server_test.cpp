#include "raw_client.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>
#include <weir/http/server.hpp>

#include <random>
#include <stdexcept>

using namespace weir;
using namespace weir::http;
using Catch::ContainsSubstring;
using test::RawClient;

namespace {

// Responds with the request that it received.
std::unique_ptr<Server> echo_server(const Limits& limits = {}) {
  auto server = std::make_unique<Server>(ports::Endpoint{"127.0.0.1", 0}, limits);
  const auto echo = [](const HttpRequest& request) {
    std::string text = request.method + " " + request.path + " from " + request.peer;
    for (const auto& [key, value] : request.query) text += " " + key + "=" + value;
    if (const auto agent = request.headers.find("x-mark"); agent != request.headers.end())
      text += " mark " + agent->second;
    return HttpResponse{200, "text/plain", text + " [" + request.body + "]", {{"X-Own", "yes"}}};
  };
  server->route("GET", "/echo", echo);
  server->route("POST", "/echo", echo);
  server->route("GET", "/broken",
                [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no idea"); });
  server->start();
  return server;
}

std::string url(const Server& server, const std::string& target) {
  return "127.0.0.1:" + std::to_string(server.endpoint().port) + target;
}

}  // namespace

TEST_CASE("a handler sees the request, and the client its response") {
  const auto server = echo_server();
  const auto got = get(url(*server, "/echo?q=a%20b"));
  REQUIRE(got.has_value());
  CHECK(got->status == 200);
  CHECK(got->body == "GET /echo from 127.0.0.1 q=a b []");
  const auto posted = post(url(*server, "/echo"), "{\"x\": 1}");
  REQUIRE(posted.has_value());
  CHECK(posted->body == "POST /echo from 127.0.0.1 [{\"x\": 1}]");
}

TEST_CASE("requests follow each other on one connection, even if they arrive together") {
  const auto server = echo_server();
  RawClient client(server->endpoint());
  client.send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Mark: 1\r\n\r\n");
  CHECK_THAT(client.until("[]"), ContainsSubstring("mark 1"));
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /echo?n=3 HTTP/1.1\r\nHost: x\r\n"
      "Connection: close\r\n\r\n");
  const std::string both = client.rest();
  CHECK_THAT(both, ContainsSubstring("[abc]"));
  CHECK_THAT(both, ContainsSubstring("n=3 []"));
  CHECK(client.ended());
  CHECK(server->counters().requests == 3);
  CHECK(server->counters().accepted == 1);
}

TEST_CASE("HEAD returns only the headers") {
  const auto server = echo_server();
  RawClient client(server->endpoint());
  client.send("HEAD /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string text = client.rest();
  CHECK_THAT(text, ContainsSubstring("200 OK"));
  CHECK_THAT(text, ContainsSubstring("X-Own: yes"));
  CHECK_THAT(text, ContainsSubstring("nosniff"));
  CHECK(text.ends_with("\r\n\r\n"));
}

TEST_CASE("unknown paths, wrong methods and failing handlers have different responses") {
  const auto server = echo_server();
  CHECK(get(url(*server, "/nothing"))->status == 404);
  CHECK(post(url(*server, "/broken"), "")->status == 405);
  const auto broken = get(url(*server, "/broken"));
  CHECK(broken->status == 500);
  CHECK_THAT(broken->body, ContainsSubstring("no idea"));
  CHECK(server->counters().not_found == 1);
  CHECK(server->counters().handler_failures == 1);
}

TEST_CASE("garbage is rejected and counted, and affects no other client") {
  const auto server = echo_server();
  RawClient other(server->endpoint());
  for (const std::string& garbage :
       {std::string("\x16\x03\x01\x02\x00\x01\xfc\x03\x03", 9), std::string("hello there\r\n\r\n"),
        std::string("GET /echo HTTP/9.9\r\n\r\n"), std::string("GET /echo HTTP/1.1\r\nno colon\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("GET /echo HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n")}) {
    RawClient client(server->endpoint());
    client.send(garbage);
    INFO(garbage);
    CHECK_THAT(client.rest(), ContainsSubstring("400 Bad Request"));
  }
  CHECK(server->counters().malformed == 6);
  other.send("GET /echo HTTP/1.0\r\n\r\n");
  CHECK_THAT(other.rest(), ContainsSubstring("200 OK"));
}

TEST_CASE("the server survives arbitrary bytes") {
  const auto server = echo_server();
  std::mt19937_64 random(7);
  const std::string good = "POST /echo?a=%41 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";
  for (int i = 0; i < 300; ++i) {
    std::string text = good;
    for (std::uint64_t changes = 1 + random() % 6; changes > 0; --changes) {
      text[random() % text.size()] = static_cast<char>(random() % 256);
    }
    text.resize(random() % (text.size() + 1));
    RawClient client(server->endpoint());
    client.send(text);
  }
  const auto got = get(url(*server, "/echo"));
  REQUIRE(got.has_value());
  CHECK(got->status == 200);
}

TEST_CASE("a port in use is reported with its address") {
  const auto server = echo_server();
  CHECK_THROWS_WITH(Server(server->endpoint()),
                    ContainsSubstring("127.0.0.1:" + std::to_string(server->endpoint().port)));
  CHECK_THROWS_WITH(Server(ports::Endpoint{"no-such-host.invalid", 0}), ContainsSubstring("no-such-host"));
}

TEST_CASE("a server that was never started ends") { const Server server(ports::Endpoint{"127.0.0.1", 0}); }
