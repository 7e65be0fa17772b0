#pragma once

#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "weir_catch.hpp"
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <cstring>
#include <utility>
#include <vector>

// The process at the other end of a DCM's connection, in memory: keeps what it is told, says what a test
// wants.
namespace weir::dcm {

using test::process;

class FarSide final : private messages::PeerHandler {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  FarSide(test::MemoryNetwork& network, messages::PeerInfo self, const TimeNs& now_ns)
      : self_(std::move(self)), door_(self_, *this, limits_, counters_, now_ns) {
    auto opened = door_.open(network, {"memory", 0});
    REQUIRE(opened.has_value());
    at = *opened;
  }
  void tick() { door_.tick(); }
  void say(const v1::Control& message) {
    REQUIRE(peer != nullptr);
    peer->send(message);
  }
  void say(const std::vector<std::byte>& bytes) {
    REQUIRE(peer != nullptr);
    peer->stream().append(bytes);
  }

  ports::Endpoint at;
  messages::Peer* peer = nullptr;  // the one that is there
  int connections = 0;
  std::vector<v1::Control> said;  // to it
  std::vector<Frame> frames;      // likewise

 private:
  void on_ready(messages::Peer& ready) override {
    peer = &ready;
    ++connections;
  }
  void on_gone(messages::Peer& gone, std::string_view) override {
    if (peer == &gone) peer = nullptr;
  }
  wire::Placement on_header(messages::Peer&, const wire::FrameHeader&) override {
    return {wire::Placement::Kind::whole, nullptr};
  }
  Expected<void, wire::WireError> on_frame(messages::Peer&, const wire::FrameHeader& header,
                                           ConstBytes payload) override {
    frames.push_back({header, {payload.begin(), payload.end()}});
    return {};
  }
  Expected<void, wire::WireError> on_control(messages::Peer&, const v1::Control& message) override {
    said.push_back(message);
    return {};
  }

  messages::PeerInfo self_;
  messages::PeerLimits limits_;
  messages::PeerCounters counters_;
  messages::Door door_;
};

}  // namespace weir::dcm
