#include "loop_fixture.hpp"

namespace weir::transport {
namespace {

TlsKey key(const std::string& name, int seed) {
  TlsKey key{name, {}};
  key.secret.fill(static_cast<std::byte>(seed));
  return key;
}

SocketPolicy with(std::vector<TlsKey> keys) {
  SocketPolicy policy;
  policy.tls_keys = std::move(keys);
  return policy;
}

// Two loops, each with its own keys.
struct Ends {
  Ends(std::vector<TlsKey> listening, std::vector<TlsKey> connecting)
      : near(with(std::move(connecting))), far(with(std::move(listening))), at(server.open(far)) {}
  void connect() { client.stream = near.connect(at, client); }
  template <class Done>
  bool until(const Done& done) {
    return run_until({&near, &far}, done);
  }

  Loop near;
  Loop far;
  Server server;
  Party client;
  ports::Endpoint at;
};

// A proxy that records all bytes, and alters one on request.
struct Eavesdropper {
  explicit Eavesdropper(const ports::Endpoint& behind) {
    listener.prepare = [this, behind](Party& near) {
      far.stream = loop.connect(behind, far);
      near.at_received = [this, &near] { pass_on(near.text, *far.stream, true); };
      far.at_received = [this, &near] { pass_on(far.text, *near.stream, false); };
    };
    at = listener.open(loop);
  }
  void pass_on(std::string& text, ports::Stream& to, bool from_client) {
    heard += text;
    if (alter && from_client) text[text.size() / 2] ^= 1;
    to.append(std::as_bytes(std::span(text)));
    text.clear();
  }

  Loop loop{SocketPolicy{}};
  Server listener;
  Party far;
  std::string heard;
  ports::Endpoint at;
  bool alter = false;
};

}  // namespace

TEST_CASE("many megabytes in pieces of all sizes return over TLS as they were sent") {
  constexpr std::size_t kSize = 16U << 20;
  constexpr std::size_t kEchoUnsentMax = 1U << 20;
  const auto sent = std::make_shared<const std::vector<std::byte>>(noise(kSize));
  std::vector<std::byte> back(kSize);
  Ends ends({key("k", 1)}, {key("k", 1)});
  ends.server.prepare = [&](Party& echo) {
    echo.at_received = [&] {
      echo.stream->append(std::as_bytes(std::span(echo.text)));
      echo.text.clear();
      if (echo.stream->unsent_bytes() > kEchoUnsentMax) echo.stream->pause_receiving(true);
    };
    echo.at_drained = [&] { echo.stream->pause_receiving(false); };
  };
  ends.connect();
  ends.client.target = back;
  constexpr std::size_t kPieces[] = {1, 31, 32, 512, 513, 4096, 16'383, 16'384, 16'385, 300'001};
  std::size_t piece = 0;
  for (std::size_t at = 0; at < kSize; ++piece) {
    const std::size_t size = std::min(kPieces[piece % std::size(kPieces)], kSize - at);
    ends.client.stream->append_reference(ConstBytes(*sent).subspan(at, size), sent);
    at += size;
  }
  REQUIRE(ends.until([&] { return ends.client.placed == kSize; }));
  CHECK(back == *sent);
  CHECK(sent.use_count() == 1);
  CHECK(ends.near.unsent_bytes() + ends.far.unsent_bytes() == 0);
}

TEST_CASE("data sent over TLS cannot be read on the way") {
  const std::string words = "a fragment that must stay confidential";
  Ends ends({key("k", 1)}, {key("k", 1)});
  Eavesdropper between(ends.at);
  ends.client.stream = ends.near.connect(between.at, ends.client);
  ends.client.say(words);
  REQUIRE(run_until({&ends.near, &ends.far, &between.loop}, [&] {
    return !ends.server.parties.empty() && ends.server.first().received == words.size();
  }));
  CHECK(ends.server.first().text == words);
  CHECK(between.heard.size() > words.size());
  CHECK(between.heard.find(words.substr(2, 8)) == std::string::npos);
}

TEST_CASE("altered data end the connection and are not received") {
  Ends ends({key("k", 1)}, {key("k", 1)});
  Eavesdropper between(ends.at);
  ends.client.stream = ends.near.connect(between.at, ends.client);
  ends.client.say("first");
  const std::initializer_list<Loop*> loops{&ends.near, &ends.far, &between.loop};
  REQUIRE(
      run_until(loops, [&] { return !ends.server.parties.empty() && ends.server.first().received == 5; }));
  between.alter = true;
  ends.client.say("second");
  REQUIRE(run_until(loops, [&] { return ends.server.first().closed == 1; }));
  CHECK(ends.server.first().reason == ports::CloseReason::reset);
  CHECK(ends.server.first().text == "first");
}

TEST_CASE("without the same key no connection is established, and both sides are notified") {
  std::vector<TlsKey> listening{key("k", 1)};
  std::vector<TlsKey> connecting{key("k", 1)};
  SECTION("another secret of the same name") { connecting = {key("k", 2)}; }
  SECTION("a key of another name") { connecting = {key("else", 1)}; }
  SECTION("no TLS at the listener") { listening = {}; }
  SECTION("no TLS at the connecting side") { connecting = {}; }
  Ends ends(listening, connecting);
  ends.server.prepare = [&](Party& party) {
    party.good = false;
  };  // the bytes it receives are not a valid stream
  ends.connect();
  ends.client.good = false;
  ends.client.say("words of a stranger, some more than a record's header has");
  REQUIRE(ends.until([&] {
    return ends.client.closed == 1 && !ends.server.parties.empty() && ends.server.first().closed == 1;
  }));
  CHECK((listening.empty() || ends.server.first().received == 0));
  CHECK((connecting.empty() || !ends.client.connected));
  CHECK((listening.empty() || ends.server.first().reason == ports::CloseReason::not_trusted));
  CHECK((connecting.empty() || ends.client.reason == ports::CloseReason::not_trusted));
}

TEST_CASE("keys are changed one side after the other") {
  Ends ends({key("old", 1), key("new", 2)}, {key("new", 2), key("old", 1)});
  ends.connect();
  ends.client.say("words");
  REQUIRE(ends.until([&] { return !ends.server.parties.empty() && ends.server.first().received == 5; }));
}

TEST_CASE("an orderly end over TLS is reported as one, and the last bytes arrive") {
  Ends ends({key("k", 1)}, {key("k", 1)});
  ends.connect();
  REQUIRE(ends.until([&] { return ends.client.connected; }));
  ends.client.say("last words");
  ends.client.stream->close();
  REQUIRE(ends.until([&] { return !ends.server.parties.empty() && ends.server.first().closed == 1; }));
  CHECK(ends.server.first().text == "last words");
  CHECK(ends.server.first().reason == ports::CloseReason::peer_closed);
}

TEST_CASE("a silent client holds no more than a connection, and can be dropped") {
  Ends ends({key("k", 1)}, {});
  ends.connect();
  REQUIRE(ends.until([&] { return !ends.server.parties.empty() && ends.client.connected; }));
  ends.server.first().stream->close();
  REQUIRE(ends.until([&] { return ends.client.closed == 1; }));
  CHECK(ends.server.first().closed == 0);
}

}  // namespace weir::transport
