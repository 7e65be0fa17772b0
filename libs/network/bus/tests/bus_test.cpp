#include "bus_fixture.hpp"
#include "weir_catch.hpp"
#include <weir/base/owned_descriptor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <netinet/in.h>
#include <optional>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace weir;
using namespace weir::bus;
using weir::bus::test::bytes;
using weir::bus::test::heartbeat;
using weir::bus::test::Middle;

namespace {

ClientSettings to(const Hub& hub) {
  ClientSettings settings;
  settings.host = "127.0.0.1";
  settings.port = hub.port();
  return settings;
}

SubscriberSettings listening(const Hub& hub) {
  SubscriberSettings settings;
  settings.host = "127.0.0.1";
  settings.port = hub.subscribe_port();
  return settings;
}

// Sends bytes of no known protocol to a port. Returns false if the port could not be reached.
bool send_garbage(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool sent = ::connect(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  const std::string garbage(200, 'x');
  sent = sent && ::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL) > 0;
  ::close(socket);
  return sent;
}

// Returns a socket that listens at another loopback address.
int listen_beside(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(socket, SOMAXCONN) == 0);
  return socket;
}

}  // namespace

TEST_CASE("a message reaches the hub, and the answer reaches its sender") {
  Middle middle;
  std::atomic<int> woken = 0;
  Client one(to(middle.hub), [&] { ++woken; });
  Client other(to(middle.hub), {});
  one.send(heartbeat(1));
  other.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
  for (const test::Heard& heard : middle.heard) {
    v1::BusMessage answer = heard.message;
    answer.mutable_heartbeat()->set_incarnation(answer.heartbeat().incarnation() + 100);
    middle.hub.send(heard.from.id, answer);
  }
  const auto first = one.wait(5 * kSecond);
  REQUIRE(first.size() == 1);
  CHECK(first[0].heartbeat().incarnation() == 101);
  CHECK(woken >= 1);
  const auto second = other.wait(5 * kSecond);
  REQUIRE(second.size() == 1);
  CHECK(second[0].heartbeat().incarnation() == 102);
}

TEST_CASE("a hub stops waiting for messages while a further descriptor is readable") {
  Middle middle;
  const OwnedDescriptor descriptor(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  middle.hub.wait_for(descriptor.get());
  middle.hub.poll(600 * kSecond, middle);  // returns at once, or the test's time is over
  Client client(to(middle.hub), {});
  client.send(heartbeat(1));
  CHECK(middle.until([&] { return middle.heard.size() == 1; }));
}

TEST_CASE("clients reconnect to a restarted hub, and send the messages of the meantime") {
  std::optional<Middle> middle;
  middle.emplace();
  HubSettings same;
  same.port = middle->hub.port();
  Client client(to(middle->hub), {});
  client.send(heartbeat(1));
  REQUIRE(middle->until([&] { return middle->heard.size() == 1; }));
  middle.reset();
  // ZeroMQ accepts some of these for a connection that is closing; once it has noticed the end, they stay
  // queued. A single message that is unsent after a moment proves nothing, because the client's thread may
  // not have run yet.
  constexpr std::uint64_t kWaiting = 100;
  std::uint64_t last = 1;
  for (int i = 0; i < 3000 && last - client.counters().sent < kWaiting; ++i) {
    client.send(heartbeat(++last));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::uint64_t sent = client.counters().sent;
  REQUIRE(last - sent >= kWaiting);
  middle.emplace(same);
  REQUIRE(middle->until([&] { return middle->heard.size() >= last - sent; }));
  std::uint64_t next = sent;
  for (const test::Heard& heard : middle->heard) CHECK(heard.message.heartbeat().incarnation() == ++next);
  CHECK(next == last);
}

TEST_CASE("a hub binds another publish port if its own is taken, and clients receive its number") {
  Middle first;
  HubSettings wanted;
  wanted.publish_port = first.hub.port();
  Hub second(wanted);
  CHECK(second.publish_port() != 0);
  CHECK(second.publish_port() != first.hub.port());
  HubSettings taken;
  taken.port = first.hub.port();
  CHECK_THROWS_WITH(
      Hub(taken),
      Catch::ContainsSubstring("another run control"));  // clients need this port: no other one will do
}

TEST_CASE("a client without a hub keeps its newest messages, and counts those it drops") {
  ClientSettings nobody;
  nobody.host = "127.0.0.1";
  nobody.port = 1;  // no process listens there
  nobody.queue_max = 3;
  Client client(nobody, {});
  for (std::uint64_t i = 0; i < 10; ++i) client.send(heartbeat(i));
  CHECK(client.counters().dropped_messages == 7);
  CHECK_FALSE(client.publish("report.x", bytes("lost")));
  CHECK(client.counters().dropped_published == 1);
}

TEST_CASE("messages dropped while they are being sent are counted once") {
  Middle middle;
  Client client(to(middle.hub), {});
  constexpr std::uint64_t kMessages = 20000;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    client.send(heartbeat(i));
    client.drop_unsent();
  }
  const ClientCounters counters = client.counters();
  CHECK(counters.sent + counters.dropped_messages == kMessages);
  client.send(heartbeat(kMessages));
  CHECK(middle.until([&] {
    return !middle.heard.empty() && middle.heard.back().message.heartbeat().incarnation() == kMessages;
  }));
}

TEST_CASE("deferred messages leave with the next immediate one, in order, and by themselves in time") {
  Middle middle;
  Subscriber everything(listening(middle.hub));
  everything.subscribe("");
  std::optional<Client> client;
  client.emplace(to(middle.hub), std::function<void()>());
  Client& publisher = *client;
  publisher.publish_to(middle.hub.publish_port());
  std::vector<std::string> heard;
  const auto take = [&] {
    while (const auto one = everything.take(0)) heard.push_back(one->tag);
  };
  REQUIRE(middle.until([&] {
    publisher.publish("probe", {});
    take();
    return !heard.empty();
  }));
  publisher.publish("a", {}, Client::Haste::soon);
  publisher.publish("b", {}, Client::Haste::soon);
  publisher.publish("c", {});
  publisher.publish("d", {}, Client::Haste::soon);  // no message follows
  REQUIRE(middle.until([&] {
    take();
    return heard.back() == "d";
  }));
  publisher.publish("e", {}, Client::Haste::soon);
  client.reset();  // sent at the latest when the client ends
  REQUIRE(middle.until([&] {
    take();
    return heard.back() == "e";
  }));
  heard.erase(std::remove(heard.begin(), heard.end(), "probe"), heard.end());
  CHECK(heard == std::vector<std::string>{"a", "b", "c", "d", "e"});
}

TEST_CASE("published messages reach the subscribers of their tag, and the hub's own observer") {
  Middle middle;
  middle.hub.observe("report.");
  Subscriber reports(listening(middle.hub));
  reports.subscribe("report.dcm");
  Subscriber everything(listening(middle.hub));
  everything.subscribe("");
  Client publisher(to(middle.hub), {});
  publisher.publish_to(middle.hub.publish_port());
  std::optional<Published> first;
  std::optional<Published> second;
  // Connections and subscriptions take time, and messages published before that are lost.
  middle.until([&] {
    publisher.publish("report.dcm-0", bytes("12"));
    publisher.publish("tap.raw.dcm-0", bytes("1234"));
    if (!first) first = reports.take(0);
    if (!second || second->tag != "tap.raw.dcm-0") second = everything.take(0);
    return first && second && second->tag == "tap.raw.dcm-0" && !middle.observed.empty();
  });
  REQUIRE(first);
  CHECK(first->tag == "report.dcm-0");
  CHECK(first->payload == "12");
  REQUIRE(second);
  CHECK(second->payload == "1234");
  REQUIRE(!middle.observed.empty());
  CHECK(middle.observed.front() == std::pair<std::string, std::size_t>{"report.dcm-0", 2});
  middle.hub.publish("report.dcm-9", bytes("x"));
  bool heard = false;
  middle.until([&] {
    const auto taken = reports.take(0);
    heard = heard || (taken && taken->tag == "report.dcm-9");
    return heard;
  });
  CHECK(heard);
}

TEST_CASE("a subscriber that does not read loses its own messages, and no other waits for it") {
  HubSettings small;
  small.queue_max = 1000;
  Middle middle(small);
  SubscriberSettings few = listening(middle.hub);
  few.queue_max = 10;
  Subscriber slow(few);
  slow.subscribe("t");
  SubscriberSettings many = listening(middle.hub);
  many.queue_max = 100'000;
  Subscriber quick(many);
  quick.subscribe("t");
  bool both = false;
  bool slow_there = false;
  bool quick_there = false;
  both = middle.until([&] {
    middle.hub.publish("t", bytes("begin"));
    slow_there = slow_there || slow.take(0).has_value();
    quick_there = quick_there || quick.take(0).has_value();
    return slow_there && quick_there;
  });
  REQUIRE(both);
  // Kernel and ZeroMQ buffer some of these for the slow subscriber, but not all.
  constexpr std::size_t kMany = 3000;
  const std::string much(64 * 1024, 'm');
  // One at a time, so that the hub's queue for the quick subscriber holds nothing but leftovers of the start.
  std::size_t got = 0;
  for (std::size_t i = 0; i < kMany && got == i; ++i) {
    middle.hub.publish("t", bytes(much));
    while (got == i) {
      const auto taken = quick.take(30 * kSecond);
      if (!taken) break;
      if (taken->payload.size() == much.size()) ++got;
    }
  }
  CHECK(got == kMany);
  std::size_t slow_got = 0;
  while (slow.take(0)) ++slow_got;
  CHECK(slow_got < kMany);
}

TEST_CASE("garbage at every port costs its own connection, and is counted") {
  Middle middle;
  for (const std::uint16_t port :
       {middle.hub.port(), middle.hub.publish_port(), middle.hub.subscribe_port()}) {
    CHECK(send_garbage(port));
  }
  Client client(to(middle.hub), {});
  client.send(heartbeat(7));
  CHECK(
      middle.until([&] { return middle.heard.size() == 1 && middle.hub.counters().refused_handshake >= 3; }));
}

TEST_CASE("a hub serves a second place, too, at the same ports") {
  HubSettings settings;
  settings.beside = listen_beside;
  Middle middle(settings);
  ClientSettings beside = to(middle.hub);
  beside.host = "127.0.0.2";
  Client there(beside, {});
  Client here(to(middle.hub), {});
  there.send(heartbeat(1));
  here.send(heartbeat(2));
  REQUIRE(middle.until([&] { return middle.heard.size() == 2; }));
  middle.hub.observe("report.");
  there.publish_to(middle.hub.publish_port());
  REQUIRE(middle.until([&] {
    (void)there.publish("report.dcm-0", bytes("one"));
    return !middle.observed.empty();
  }));
}
