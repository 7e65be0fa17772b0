#include "peer_fixture.hpp"
#include <weir/security/farm_authenticator.hpp>

#include <deque>
#include <utility>

// Connections of a farm that has a key.
namespace weir::sessions {

using Catch::Matchers::ContainsSubstring;

namespace {

std::shared_ptr<const ports::Authenticator> keyed(const security::FarmKey& key) {
  return std::make_shared<security::FarmAuthenticator>(security::FarmKeys{{key}});
}

// A listener with one key, and a connector with another.
struct KeyedFarm {
  KeyedFarm(std::shared_ptr<const ports::Authenticator> at_listener,
            std::shared_ptr<const ports::Authenticator> at_connector)
      : farm(readout(), dcm(), with(std::move(at_listener))) {
    farm.connector_limits = with(std::move(at_connector));
  }
  static PeerLimits with(std::shared_ptr<const ports::Authenticator> authenticator) {
    PeerLimits limits;
    limits.authenticator = std::move(authenticator);
    return limits;
  }
  Farm farm;
};

// Takes complete frames out of received bytes, and leaves the rest.
std::vector<std::byte> take_frame(std::string& heard) {
  if (heard.size() < wire::kHeaderBytes) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(heard.data());
  const std::size_t size = wire::kHeaderBytes + load_le<std::uint32_t>(bytes + 4);
  if (heard.size() < size) return {};
  std::vector<std::byte> frame(bytes, bytes + size);
  heard.erase(0, size);
  return frame;
}

v1::Hello hello_in(const std::vector<std::byte>& frame) {
  v1::Hello hello;
  REQUIRE(frame.size() >= wire::kHeaderBytes);
  REQUIRE(hello.ParseFromArray(frame.data() + wire::kHeaderBytes,
                               static_cast<int>(frame.size() - wire::kHeaderBytes)));
  return hello;
}

ConstBytes payload_of(const std::vector<std::byte>& frame) {
  return ConstBytes(frame).subspan(wire::kHeaderBytes);
}

// A proxy between a connector and a listener, which records the bytes of both.
struct Wire final : ports::Acceptor {
  struct End final : ports::StreamHandler {
    ports::ReceiveSpace receive_space() override { return {Bytes(space), Bytes{}}; }
    bool on_received(std::size_t bytes) override {
      const ConstBytes part = ConstBytes(space).first(bytes);
      said.insert(said.end(), part.begin(), part.end());
      if (to != nullptr) to->append(part);
      return true;
    }
    void on_closed(ports::CloseReason) override {}
    std::vector<std::byte> space = std::vector<std::byte>(4096);
    std::vector<std::byte> said;
    ports::Stream* to = nullptr;
  };
  Wire(test::MemoryNetwork& over, ports::Endpoint behind_it) : network(over), behind(std::move(behind_it)) {
    auto opened = network.listen({"wire", 0}, *this);
    REQUIRE(opened.has_value());
    listener = std::move(*opened);
  }
  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> stream) override {
    near_stream = std::move(stream);
    far_stream = network.connect(behind, far);
    near.to = far_stream.get();
    far.to = near_stream.get();
    return &near;
  }
  test::MemoryNetwork& network;
  ports::Endpoint behind;
  std::unique_ptr<ports::Listener> listener;
  End near;  // of the connector
  End far;   // of the listener
  std::unique_ptr<ports::Stream> near_stream;
  std::unique_ptr<ports::Stream> far_stream;
};

v1::Hello hello_with(const ports::Nonce& nonce) {
  v1::Hello hello = good_hello();
  hello.set_nonce(nonce.data(), nonce.size());
  return hello;
}

}  // namespace

TEST_CASE("with the farm's key on both sides peers are ready, and then talk as without") {
  const std::size_t cut = GENERATE(std::size_t{1}, std::size_t{33}, SIZE_MAX);
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  farm.at_listener.at_ready = [](Peer& peer) { peer.send(some_message()); };
  farm.at_connector.at_ready = [](Peer& peer) { peer.send(some_message()); };
  farm.connector.tick(farm.network, farm.now);
  farm.network.run(cut);
  REQUIRE(farm.connector.ready());
  CHECK(farm.at_listener.ready == 1);
  CHECK(farm.at_listener.info.name == "dcm-1");
  CHECK(farm.at_connector.info.name == "readout-3");
  CHECK(farm.at_listener.controls == 1);
  CHECK(farm.at_connector.controls == 1);
  CHECK(farm.listener_counters.refused_auth + farm.connector_counters.refused_auth == 0);
}

TEST_CASE("a peer with no key, a wrong key or an unexpected key is refused with advice") {
  const security::FarmKey key = security::make_farm_key("k");
  std::shared_ptr<const ports::Authenticator> at_listener = keyed(key);
  std::shared_ptr<const ports::Authenticator> at_connector;
  std::string expected;
  SECTION("no key at the connecting side") {
    expected = "'dcm-1' does not prove that it belongs to farm 'test farm'";
  }
  SECTION("no key at the listener") {
    std::swap(at_listener, at_connector);
    expected = "'dcm-1' has a farm key, 'readout-3' has none";
  }
  SECTION("a key of another name") {
    at_connector = keyed(security::make_farm_key("other"));
    expected = "'dcm-1' uses farm key 'other', which 'readout-3' does not have";
  }
  SECTION("another secret of the same name") {
    at_connector = keyed(security::make_farm_key("k"));
    expected = "its farm key 'k' is not that of 'readout-3'";
  }
  KeyedFarm keys(at_listener, at_connector);
  Farm& farm = keys.farm;
  farm.pass();
  CHECK_FALSE(farm.connector.ready());
  CHECK(farm.at_listener.ready + farm.at_connector.ready == 0);
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring(expected));
  CHECK_THAT(farm.at_connector.last_words,
             ContainsSubstring("refused by the peer: ") && ContainsSubstring(expected));
  CHECK(farm.listener_counters.refused_auth == 1);
  CHECK(farm.listener_counters.refused_hello == 0);
  CHECK(farm.listener.peers().empty());
}

TEST_CASE("a client with a key does not trust a listener without one") {
  KeyedFarm keys(nullptr, keyed(security::make_farm_key("k")));
  Farm& farm = keys.farm;
  // An attacker at the listener's address, which accepts every client.
  struct Welcoming final : ports::Acceptor {
    ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> accepted) override {
      guest.stream = std::move(accepted);
      v1::Hello hello;
      SECTION("with a hello as it was before keys") { hello = good_hello(); }
      SECTION("with a nonce, and a proof out of thin air") { hello = hello_with({}); }
      guest.say(wire::FrameType::hello, hello);
      v1::Hello proof;
      proof.mutable_proof()->set_key("k");
      proof.mutable_proof()->set_mac(std::string(ports::kProofBytes, 'x'));
      guest.say(wire::FrameType::hello, proof);
      return &guest;
    }
    Stranger guest;
  } welcoming;
  farm.listener.close();
  auto listener = farm.network.listen(farm.endpoint, welcoming);
  REQUIRE(listener.has_value());
  farm.pass();
  CHECK_FALSE(farm.connector.ready());
  CHECK(farm.at_connector.ready == 0);
  CHECK(farm.connector_counters.refused_auth == 1);
}

TEST_CASE("a replayed conversation is not accepted") {
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  Wire wire(farm.network, farm.endpoint);
  farm.connector.redirect(wire.listener->endpoint());
  farm.pass();
  REQUIRE(farm.connector.ready());
  auto again = stranger(farm);
  again->stream->append(wire.near.said);
  farm.network.run();
  CHECK(again->closed == 1);
  CHECK(farm.at_listener.ready == 1);
  CHECK(farm.listener_counters.refused_auth == 1);
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("the proof of 'dcm-1' is wrong"));
}

TEST_CASE("a proof is worth nothing sent back, nor on another connection to the same listener") {
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  const ports::Nonce nonce = key->make_nonce();
  auto stranger_a = stranger(farm);
  stranger_a->say(wire::FrameType::hello, hello_with(nonce));
  farm.network.run();
  const auto challenge = take_frame(stranger_a->heard);
  REQUIRE(hello_in(challenge).nonce().size() == ports::kNonceBytes);
  // A key holder's proof over the listener's challenge to the attacker's first connection.
  v1::Hello answer;
  const std::string own = hello_with(nonce).SerializeAsString();
  const auto prove = [&](ports::ConnectionSide side) {
    const ports::Proof proof = key->prove(side, {std::as_bytes(std::span(own)), payload_of(challenge)});
    answer.mutable_proof()->set_key(proof.key);
    answer.mutable_proof()->set_mac(proof.mac.data(), proof.mac.size());
  };
  SECTION("that of the other side") {
    prove(ports::ConnectionSide::listening);
    stranger_a->say(wire::FrameType::hello, answer);
    farm.network.run();
    CHECK(stranger_a->closed == 1);
  }
  SECTION("that of another connection, with the same hello") {
    prove(ports::ConnectionSide::connecting);
    auto stranger_b = stranger(farm);
    stranger_b->say(wire::FrameType::hello, hello_with(nonce));
    farm.network.run();
    stranger_b->say(wire::FrameType::hello, answer);
    farm.network.run();
    CHECK(stranger_b->closed == 1);
  }
  CHECK(farm.listener_counters.refused_auth == 1);
  CHECK(farm.at_listener.ready == 0);
}

TEST_CASE("a listener answers a challenge only after the peer's own proof") {
  // Two listeners of one farm: a proof for a challenge of one is not valid at the other.
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  auto guest = stranger(farm);
  guest->say(wire::FrameType::hello, hello_with(key->make_nonce()));
  farm.network.run();
  const v1::Hello challenge = hello_in(take_frame(guest->heard));
  CHECK_FALSE(challenge.has_proof());
  CHECK(guest->heard.empty());
}

TEST_CASE("before its proof a stranger may send nothing else, nothing long, and only within the time limit") {
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  auto guest = stranger(farm);
  guest->say(wire::FrameType::hello, hello_with(key->make_nonce()));
  farm.network.run();
  std::string error;
  SECTION("a control message") {
    guest->say(wire::FrameType::control, some_message());
    error = wire::name(wire::WireError::not_expected);
  }
  SECTION("another hello") {
    guest->say(wire::FrameType::hello, hello_with(key->make_nonce()));
    error = wire::name(wire::WireError::bad_hello);
  }
  SECTION("a proof that is long") {
    v1::Hello proof;
    proof.mutable_proof()->set_key(std::string(1000, 'k'));
    guest->say(wire::FrameType::hello, proof);
    error = wire::name(wire::WireError::not_expected);
  }
  SECTION("nothing") {
    farm.connector.stop();
    farm.pass(farm.limits.hello_timeout_ns + kMillisecond);
    CHECK(farm.listener_counters.silent == 1);
    error = "no proof in time";
  }
  farm.network.run();
  CHECK(guest->closed == 1);
  CHECK(farm.at_listener.last_words == error);
  CHECK(farm.at_listener.ready == 0);
}

TEST_CASE("a proof or nonce of a wrong length is refused and counted") {
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, key);
  Farm& farm = keys.farm;
  auto guest = stranger(farm);
  v1::Hello hello = hello_with(key->make_nonce());
  v1::Hello proof;
  proof.mutable_proof()->set_key("k");
  SECTION("nonce") { hello.set_nonce("short"); }
  SECTION("proof") { proof.mutable_proof()->set_mac("short"); }
  SECTION("none") {}
  guest->say(wire::FrameType::hello, hello);
  guest->say(wire::FrameType::hello, proof);
  farm.network.run();
  CHECK(guest->closed == 1);
  CHECK(farm.listener_counters.refused_auth == 1);
}

TEST_CASE("the node is consulted about a peer only after its proof") {
  const auto key = keyed(security::make_farm_key("k"));
  KeyedFarm keys(key, keyed(security::make_farm_key("k")));
  Farm& farm = keys.farm;
  farm.at_listener.unwanted = "dcm-1";
  farm.pass();
  CHECK_THAT(farm.at_listener.last_words, ContainsSubstring("the proof of 'dcm-1' is wrong"));
  CHECK(farm.listener_counters.refused_hello == 0);
}

}  // namespace weir::sessions
