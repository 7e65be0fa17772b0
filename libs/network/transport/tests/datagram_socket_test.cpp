#include "weir_catch.hpp"
#include <weir/transport/datagram_socket.hpp>
#include <weir/transport/loop.hpp>

#include <cstring>
#include <string>
#include <vector>

using namespace weir;

TEST_CASE("a datagram is received once, and its answer reaches the sender") {
  transport::Loop loop({});
  const auto open = transport::open_datagrams(loop);
  int told_server = 0;
  int told_client = 0;
  const auto server = open({"127.0.0.1", 0}, [&] { ++told_server; });
  const auto client = open({"127.0.0.1", 0}, [&] { ++told_client; });
  REQUIRE(server);
  REQUIRE(client);
  CHECK((*server)->endpoint().port != 0);
  (*server)->arm();
  (*client)->arm();
  // The client's first datagram shows the server its address; the server's own address comes from its answer.
  ports::DatagramPeer to;
  const auto socket_address = [&](std::uint16_t port) {
    const unsigned char bytes[] = {2,
                                   0,
                                   static_cast<unsigned char>(port >> 8),
                                   static_cast<unsigned char>(port & 255),
                                   127,
                                   0,
                                   0,
                                   1,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0};
    std::memcpy(to.address.data(), bytes, sizeof bytes);
    to.length = sizeof bytes;
  };
  socket_address((*server)->endpoint().port);
  const std::string text = "trigger";
  REQUIRE((*client)->send(std::as_bytes(std::span(text)), to));
  std::vector<std::byte> buffer(100);
  ports::DatagramPeer from;
  while (told_server == 0) loop.run_once([](TimeNs) {}, kMillisecond);
  REQUIRE((*server)->receive(buffer, from) == text.size());
  CHECK_FALSE((*server)->receive(buffer, from));
  REQUIRE((*server)->send(std::as_bytes(std::span(text)), from));
  while (told_client == 0) loop.run_once([](TimeNs) {}, kMillisecond);
  CHECK((*client)->receive(buffer, from) == text.size());
  CHECK(from == to);
}

TEST_CASE("an address in use is refused with a sentence that names it") {
  transport::Loop loop({});
  const auto open = transport::open_datagrams(loop);
  const auto first = open({"127.0.0.1", 0}, [] {});
  REQUIRE(first);
  const auto second = open((*first)->endpoint(), [] {});
  REQUIRE_FALSE(second);
  CHECK(second.error() ==
        "127.0.0.1:" + std::to_string((*first)->endpoint().port) + " (UDP): Address already in use");
}
