#pragma once

#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "weir_catch.hpp"
#include <weir/sessions/listener.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <cstring>
#include <utility>
#include <vector>

// The process at the other end of a DCM's connection, in memory: keeps what it is told, says what a test
// wants.
namespace weir::dcm {

using test::process;

class FarSide final : private sessions::PeerHandler {
 public:
  struct Frame {
    wire::FrameHeader header;
    std::vector<std::byte> payload;
  };

  FarSide(test::MemoryNetwork& network, sessions::PeerInfo self, const TimeNs& now_ns)
      : self_(std::move(self)), listener_(self_, *this, limits_, counters_, now_ns) {
    auto opened = listener_.open(network, {"memory", 0});
    REQUIRE(opened.has_value());
    at = *opened;
  }
  void tick() { listener_.tick(); }
  void say(const v1::Control& message) {
    REQUIRE(peer != nullptr);
    peer->send(message);
  }
  void say(const std::vector<std::byte>& bytes) {
    REQUIRE(peer != nullptr);
    peer->stream().append(bytes);
  }

  ports::Endpoint at;
  sessions::Peer* peer = nullptr;  // the one that is there
  int connections = 0;
  std::vector<v1::Control> said;  // to it
  std::vector<Frame> frames;      // likewise

 private:
  void on_ready(sessions::Peer& ready) override {
    peer = &ready;
    ++connections;
  }
  void on_gone(sessions::Peer& gone, std::string_view) override {
    if (peer == &gone) peer = nullptr;
  }
  wire::Placement on_header(sessions::Peer&, const wire::FrameHeader&) override {
    return {wire::Placement::Kind::whole, nullptr};
  }
  Expected<void, wire::WireError> on_frame(sessions::Peer&, const wire::FrameHeader& header,
                                           ConstBytes payload) override {
    frames.push_back({header, {payload.begin(), payload.end()}});
    return {};
  }
  Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control& message) override {
    said.push_back(message);
    return {};
  }

  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  sessions::Listener listener_;
};

}  // namespace weir::dcm
