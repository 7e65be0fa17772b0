#pragma once

#include "memory_network.hpp"
#include "weir_catch.hpp"
#include <weir/sessions/connector.hpp>
#include <weir/sessions/listener.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <functional>
#include <string>
#include <vector>

// Two sides of a connection over a network in memory, and clients that send arbitrary bytes.
namespace weir::sessions {

inline PeerInfo readout() {
  PeerInfo info;
  info.role = Role::readout;
  info.name = "readout-3";
  info.index = NodeIndex(3);
  info.run = RunNumber(42);
  info.incarnation = Incarnation(0xfeedfacecafe0001ULL);
  info.farm = "test farm";
  info.listen = {"10.0.0.3", 7003};
  info.sources = {SourceId(5), SourceId(0xffffffff)};
  return info;
}
inline PeerInfo dcm() {
  PeerInfo info;
  info.role = Role::dcm;
  info.name = "dcm-1";
  info.index = NodeIndex(1);
  info.run = RunNumber(42);
  info.farm = "test farm";
  info.credits = 17;
  return info;
}

// One side of the test; records its events.
struct Side : PeerHandler {
  std::string check_hello(const PeerInfo& guest) override {
    return guest.name == unwanted ? "'" + guest.name + "' is not wanted here" : std::string();
  }
  void on_ready(Peer& peer) override {
    ++ready;
    info = peer.info();
    if (at_ready) at_ready(peer);
  }
  void on_gone(Peer& peer, std::string_view why) override {
    ++gone;
    last_words = why;
    CHECK(peer.gone());
  }
  wire::PayloadPlace on_header(Peer&, const wire::FrameHeader& header) override {
    if (header.type != wire::FrameType::data) return {};
    room.resize(header.length);
    return {wire::PayloadPlace::Kind::place, room.data()};
  }
  Expected<void, wire::WireError> on_frame(Peer&, const wire::FrameHeader&, ConstBytes) override {
    ++frames;
    return {};
  }
  Expected<void, wire::WireError> on_control(Peer& peer, const v1::Control& message) override {
    ++controls;
    if (at_control) at_control(peer, message);
    return {};
  }
  void on_abandoned(Peer&, const wire::FrameHeader&) override { ++abandoned; }

  std::string unwanted;
  std::function<void(Peer&)> at_ready;
  std::function<void(Peer&, const v1::Control&)> at_control;
  PeerInfo info;
  std::string last_words;
  std::vector<std::byte> room;
  int ready = 0;
  int gone = 0;
  int frames = 0;
  int controls = 0;
  int abandoned = 0;
};

inline v1::Control some_message() {
  v1::Control message;
  message.mutable_announce()->add_slice(7);
  return message;
}

// A listener and a connector to it.
struct Farm {
  explicit Farm(PeerInfo listens = readout(), PeerInfo connects = dcm(), PeerLimits listener_limits = {})
      : listener_info(std::move(listens)), connector_info(std::move(connects)), limits(listener_limits) {
    auto opened = listener.open(network, {"memory", 0});
    REQUIRE(opened.has_value());
    endpoint = *opened;
    connector.redirect(endpoint);
  }
  void pass(DurationNs after = kMillisecond) {
    now += after;
    connector.tick(network, now);
    network.run();
    listener.tick();
  }

  test::MemoryNetwork network;
  PeerInfo listener_info;
  PeerInfo connector_info;
  PeerLimits limits;
  PeerLimits connector_limits;
  TimeNs now = kSecond;
  Side at_listener;
  Side at_connector;
  PeerCounters listener_counters;
  PeerCounters connector_counters;
  SessionListener listener{listener_info, at_listener, limits, listener_counters, now};
  Connector connector{connector_info,     at_connector, connector_limits,
                      connector_counters, {},           100 * kMillisecond};
  ports::Endpoint endpoint;
};

// A client that sends arbitrary bytes.
struct Stranger : ports::StreamHandler {
  ports::ReceiveSpace receive_space() override { return {Bytes(space), Bytes{}}; }
  bool on_received(std::size_t bytes) override {
    heard.append(reinterpret_cast<const char*>(space.data()), bytes);
    return true;
  }
  void on_closed(ports::CloseReason) override { ++closed; }
  void say(wire::FrameType type, const google::protobuf::MessageLite& message) {
    const std::string payload = message.SerializeAsString();
    std::vector<std::byte> frame;
    wire::append_frame(type, std::as_bytes(std::span(payload)), frame);
    stream->append(frame);
  }

  std::unique_ptr<ports::Stream> stream;
  std::vector<std::byte> space = std::vector<std::byte>(4096);
  std::string heard;
  int closed = 0;
};

inline std::unique_ptr<Stranger> stranger(Farm& farm) {
  auto made = std::make_unique<Stranger>();
  made->stream = farm.network.connect(farm.endpoint, *made);
  farm.network.run();
  return made;
}

inline v1::Hello good_hello() {
  v1::Hello hello;
  hello.set_version(wire::kVersion);
  hello.set_role(v1::ROLE_DCM);
  hello.set_name("dcm-9");
  hello.set_farm("test farm");
  return hello;
}

}  // namespace weir::sessions
