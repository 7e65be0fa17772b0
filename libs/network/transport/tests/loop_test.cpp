#include "loop_fixture.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weir::transport {

TEST_CASE("many megabytes return from an echo as they were sent, received at their place") {
  constexpr std::size_t kSize = 48U << 20;
  constexpr std::size_t kEchoUnsentMax = 4U << 20;
  const auto sent = std::make_shared<const std::vector<std::byte>>(noise(kSize));
  std::vector<std::byte> back(kSize);
  Pair pair;
  pair.client.target = back;
  Party& echo = pair.far();
  echo.at_received = [&] {
    echo.stream->append(std::as_bytes(std::span(echo.text)));
    echo.text.clear();
    if (echo.stream->unsent_bytes() > kEchoUnsentMax) echo.stream->pause_receiving(true);
  };
  echo.at_drained = [&] { echo.stream->pause_receiving(false); };

  constexpr std::size_t kPiece = 300'001;
  for (std::size_t at = 0; at < kSize; at += kPiece) {
    pair.client.stream->append_reference(ConstBytes(*sent).subspan(at, std::min(kPiece, kSize - at)), sent);
  }
  REQUIRE(pair.until([&] { return pair.client.placed == kSize; }));
  CHECK(back == *sent);
  CHECK(sent.use_count() == 1);
  CHECK(echo.received == kSize);
  CHECK(pair.client.text.empty());

  const ports::StreamCounters totals = pair.loop.stream_totals();
  CHECK(totals.bytes_sent == 2 * kSize);
  CHECK(totals.bytes_received == 2 * kSize);
  CHECK(pair.loop.unsent_bytes() == 0);
  CHECK(pair.loop.counters().option_failures == 0);
}

TEST_CASE("bytes appended in one pass leave in one system call") {
  Pair pair;
  const std::uint64_t before = pair.client.stream->counters().send_calls;
  for (int i = 0; i < 1000; ++i) pair.client.say("0123456789");
  REQUIRE(pair.until([&] { return pair.far().received == 10'000; }));
  CHECK(pair.client.stream->counters().send_calls == before + 1);
}

TEST_CASE("a stream reports on request when its last bytes arrived, however late they are read") {
  Pair pair;
  const auto utc_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * kSecond + now.tv_nsec;
  };
  pair.client.say("before");
  REQUIRE(pair.until([&] { return pair.far().received == 6; }));
  CHECK(pair.far().stream->arrived_utc_ns() == 0);
  pair.far().stream->note_arrivals();
  // The kernel begins to stamp a moment after the first socket has requested it.
  std::size_t received = 6;
  for (int i = 0; i < 5000 && pair.far().stream->arrived_utc_ns() == 0; ++i) {
    pair.client.say("x");
    ++received;
    REQUIRE(pair.until([&] { return pair.far().received == received; }));
  }
  const UtcNs asked = utc_ns();
  pair.client.say("after");
  REQUIRE(pair.until([&] { return pair.client.stream->unsent_bytes() == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  REQUIRE(pair.until([&] { return pair.far().received == received + 5; }));
  CHECK(pair.far().stream->arrived_utc_ns() >= asked);
  CHECK(pair.far().stream->arrived_utc_ns() <= utc_ns());
}

TEST_CASE("bytes appended before the connection is established are sent afterwards") {
  Loop loop{SocketPolicy{}};
  Server server;
  Party client;
  const auto at = server.open(loop);
  SECTION("to an address") { client.stream = loop.connect(at, client); }
  SECTION("to a host by its name") { client.stream = loop.connect({"localhost", at.port}, client); }
  client.say("first words");
  REQUIRE(run_until({&loop}, [&] { return !server.parties.empty() && server.first().received == 11; }));
  CHECK(server.first().text == "first words");
  CHECK(server.first().stream->peer().substr(0, 10) == "127.0.0.1:");
  CHECK(client.stream->peer().substr(client.stream->peer().find(':')) == ":" + std::to_string(at.port));
}

TEST_CASE("connections to one network come from the address that is set, others from any") {
  const auto peer_with = [](const char* source) {
    SocketPolicy policy;
    policy.sources = {parse_source(source).value()};
    Loop loop{policy};
    Server server;
    Party client;
    client.stream = loop.connect(server.open(loop), client);
    REQUIRE(run_until({&loop}, [&] { return client.connected && !server.parties.empty(); }));
    const std::string peer = server.first().stream->peer();
    return peer.substr(0, peer.find(':'));
  };
  CHECK(peer_with("127.77.0.1/8") == "127.77.0.1");
  CHECK(peer_with("127.77.0.1/16") == "127.0.0.1");
}

TEST_CASE("a source that this host does not have makes no connection") {
  SocketPolicy policy;
  policy.sources = {parse_source("192.0.2.1/1").value()};  // TEST-NET-1
  policy.sources.front().mask = 0;
  Loop loop{policy};
  Server server;
  Party client;
  client.stream = loop.connect(server.open(loop), client);
  REQUIRE(run_until({&loop}, [&] { return client.closed > 0; }));
  CHECK(client.reason == ports::CloseReason::refused);
}

TEST_CASE("a source is an IPv4 address with the length of its network") {
  CHECK(parse_source("10.77.128.1/16")->address == 0x0a4d8001);
  CHECK(parse_source("10.77.128.1/16")->mask == 0xffff0000);
  CHECK(parse_source("10.77.128.1/32")->mask == 0xffffffff);
  for (const char* text :
       {"", "10.0.0.1", "10.0.0.1/", "10.0.0.1/0", "10.0.0.1/33", "10.0.0/8", "x/8", "10.0.0.1/8x"}) {
    INFO(text);
    CHECK_FALSE(parse_source(text).has_value());
  }
}

TEST_CASE("a connection to a port without a listener is refused") {
  Loop loop{SocketPolicy{}};
  Party client;
  client.stream = loop.connect({"127.0.0.1", free_port(loop)}, client);
  CHECK(client.closed == 0);  // never from within the call
  REQUIRE(run_until({&loop}, [&] { return client.closed > 0; }));
  CHECK(client.reason == ports::CloseReason::refused);
  CHECK(client.closed == 1);
  CHECK_FALSE(client.connected);
}

TEST_CASE("a port in use is refused with a sentence that names it") {
  Loop loop{SocketPolicy{}};
  Server first;
  Server second;
  const auto at = first.open(loop);
  const auto taken = loop.listen(at, second);
  REQUIRE_FALSE(taken.has_value());
  CHECK_THAT(taken.error(), Catch::Matchers::ContainsSubstring("127.0.0.1:" + std::to_string(at.port)) &&
                                Catch::Matchers::ContainsSubstring("in use"));
  first.listener.reset();
  CHECK(loop.listen(at, second).has_value());
}

TEST_CASE("an acceptor that does not want a connection closes it, and the next is its own matter") {
  Loop loop{SocketPolicy{}};
  Server server;
  const auto at = server.open(loop);
  server.refuse = true;
  Party unwanted;
  unwanted.stream = loop.connect(at, unwanted);
  REQUIRE(run_until({&loop}, [&] { return unwanted.closed > 0; }));
  server.refuse = false;
  Party wanted;
  wanted.stream = loop.connect(at, wanted);
  CHECK(run_until({&loop}, [&] { return wanted.connected && server.parties.size() == 1; }));
}

TEST_CASE("a paused receiver holds the sender back, and loses nothing") {
  constexpr std::size_t kSize = 64U << 20;
  constexpr int kQuietPasses = 10;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(noise(kSize));
  Pair pair;
  std::vector<std::byte> taken(kSize);
  pair.far().target = taken;
  pair.far().stream->pause_receiving(true);
  pair.client.stream->append_reference(*bytes, bytes);

  std::size_t unsent = kSize;
  int quiet = 0;
  REQUIRE(pair.until([&] {
    quiet = pair.client.stream->unsent_bytes() == unsent && unsent < kSize ? quiet + 1 : 0;
    unsent = pair.client.stream->unsent_bytes();
    return quiet == kQuietPasses;
  }));
  CHECK(unsent > 0);
  const std::size_t before = pair.far().received;
  CHECK(before == 0);

  pair.far().stream->pause_receiving(false);
  REQUIRE(pair.until([&] { return pair.far().placed == kSize; }));
  CHECK(taken == *bytes);
}

TEST_CASE("a receiver that pauses while it is called is not asked for room again") {
  Pair pair;
  Party& far = pair.far();
  far.spill.resize(100);
  far.at_received = [&] { far.stream->pause_receiving(true); };
  std::size_t asked = far.asked;
  for (int i = 0; i < 100; ++i) pair.client.say("0123456789");
  for (std::size_t expected = 100; expected <= 1000; expected += 100) {
    REQUIRE(pair.until([&] { return far.received >= expected; }));
    pair.loop.run_once([](TimeNs) {}, 0);
    CHECK(far.received == expected);
    CHECK(far.asked == asked + 1);
    asked = far.asked;
    far.stream->pause_receiving(false);
  }
}

TEST_CASE("waiting for a stream's next bytes takes no system call") {
  Pair pair;
  const auto calls = [](const Party& party) { return party.stream->counters(); };
  for (std::size_t i = 1; i <= 100; ++i) {
    pair.client.say("request");
    REQUIRE(pair.until([&] { return pair.far().received == 7 * i; }));
    pair.far().say("answer");
    REQUIRE(pair.until([&] { return pair.client.received == 6 * i; }));
  }
  CHECK(calls(pair.far()).receive_calls == 100);
  CHECK(calls(pair.far()).wait_calls == 1);
  CHECK(calls(pair.client).receive_calls == 100);
  CHECK(calls(pair.client).wait_calls == 1);
}

TEST_CASE("a stream that always has data takes turns with the others") {
  constexpr std::size_t kPiece = 1 << 20;
  const auto flood = std::make_shared<const std::vector<std::byte>>(kPiece);
  Pair pair;
  Party quiet;
  quiet.stream = pair.loop.connect(pair.server.listener->endpoint(), quiet);
  REQUIRE(pair.until([&] { return pair.server.parties.size() == 2; }));
  Party& answering = *pair.server.parties.back();
  pair.far().spill.resize(16);  // one turn takes 128 bytes
  pair.client.stream->append_reference(*flood, flood);
  REQUIRE(pair.until([&] { return pair.far().received > 0; }));
  for (std::size_t i = 1; i <= 50; ++i) {
    const std::size_t before = pair.far().received;
    quiet.say("x");
    pair.loop.run_once([](TimeNs) {}, 0);  // sends it
    std::size_t turns = 1;
    // On a busy machine the kernel may deliver it a turn later.
    do {
      pair.loop.run_once([](TimeNs) {}, 0);
    } while (++turns < 20 && answering.received < i);
    CHECK(answering.received == i);
    CHECK(pair.far().received > before);
    CHECK(pair.far().received <= before + turns * 128);
  }
}

TEST_CASE("a connection that finds no free descriptor is accepted once there is one") {
  Loop loop{SocketPolicy{}};
  Server server;
  Party client;
  client.stream = loop.connect(server.open(loop), client);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::fcntl(STDIN_FILENO, F_DUPFD, 0);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const bool failed = run_until({&loop}, [&] { return loop.counters().accept_failures > 0; });
  const std::uint64_t passes = loop.counters().passes;
  for (int i = 0; i < 3; ++i) loop.run_once([](TimeNs) {}, 5 * kMillisecond);
  const std::uint64_t failures = loop.counters().accept_failures;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(failed);
  CHECK(failures == 1);  // no attempt per pass
  CHECK(loop.counters().passes == passes + 3);
  CHECK(run_until({&loop}, [&] { return server.parties.size() == 1; }));
}

TEST_CASE("a few hundred connections at once are all accepted and served") {
  constexpr std::size_t kConnections = 300;
  Loop loop{SocketPolicy{}};
  Server server;
  server.prepare = [](Party& party) {
    party.at_received = [&party] {
      party.say(party.text);
      party.text.clear();
    };
  };
  const auto at = server.open(loop);
  std::vector<std::unique_ptr<Party>> clients;
  for (std::size_t i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_unique<Party>());
    clients.back()->stream = loop.connect(at, *clients.back());
    clients.back()->say("client " + std::to_string(1000 + i));
  }
  const auto answered = [](const auto& client) { return client->received == 11; };
  REQUIRE(run_until({&loop}, [&] { return std::all_of(clients.begin(), clients.end(), answered); }));
  for (std::size_t i = 0; i < kConnections; ++i)
    CHECK(clients[i]->text == "client " + std::to_string(1000 + i));
  CHECK(server.parties.size() == kConnections);
}

TEST_CASE("a loop is woken and stopped from another thread, and sees earlier writes") {
  Loop loop{SocketPolicy{}};
  constexpr int kWakes = 2000;
  std::atomic<int> done{0};
  int seen = 0;
  bool went_backwards = false;
  std::thread other([&] {
    for (int i = 0; i < kWakes; ++i) {
      done.fetch_add(1, std::memory_order_relaxed);
      loop.wake();
    }
  });
  // The idle wait is an hour, so only a lost wake-up can make this test hang.
  const auto pass = [&](TimeNs) {
    const int now = done.load(std::memory_order_relaxed);
    went_backwards = went_backwards || now < seen;
    seen = now;
    if (seen == kWakes) loop.stop();
  };
  loop.run(pass, 3600 * kSecond);
  other.join();
  CHECK(seen == kWakes);
  CHECK_FALSE(went_backwards);
}

TEST_CASE("an idle loop calls its pass no more often than configured") {
  Loop loop{SocketPolicy{}};
  const TimeNs begin = loop.now_ns();
  for (int i = 0; i < 3; ++i) loop.run_once([](TimeNs) {}, 20 * kMillisecond);
  CHECK(loop.now_ns() - begin >= 55 * kMillisecond);
  CHECK(loop.counters().passes == 3);
}

TEST_CASE("socket options of the policy are set, and one that the kernel refuses is counted") {
  SocketPolicy policy;
  policy.send_buffer_bytes = 1 << 16;
  policy.receive_buffer_bytes = 1 << 16;
  policy.congestion_control = "no-such-algorithm";
  Loop loop(policy);
  Server server;
  Party client;
  client.stream = loop.connect(server.open(loop), client);
  REQUIRE(run_until({&loop}, [&] { return client.connected && !server.parties.empty(); }));
  CHECK(loop.counters().option_failures == 2);
}

TEST_CASE(
    "memory that cannot be read any more, as of a truncated file, ends the loop, not one connection after "
    "another") {
  constexpr std::size_t kSize = 1 << 20;
  void* unreadable = ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(unreadable != MAP_FAILED);
  Pair pair;
  pair.client.stream->append_reference({static_cast<const std::byte*>(unreadable), kSize}, nullptr);
  CHECK_THROWS_WITH(pair.until([] { return false; }),
                    Catch::Matchers::ContainsSubstring("was truncated while in use"));
  ::munmap(unreadable, kSize);
}

}  // namespace weir::transport
