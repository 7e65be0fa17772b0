#pragma once

#include "memory_network.hpp"
#include "peer_identity.hpp"
#include "recording_side.hpp"
#include "weir_catch.hpp"
#include <weir/sessions/listener.hpp>
#include <weir/v1/control.pb.h>
#include <weir/wire/batch.hpp>

#include <utility>
#include <vector>

// The peer of a DCM's connection, in memory: records received messages, and sends those of the test.
namespace weir::dcm {

using test::process;

class FarSide final : public test::RecordingSide {
 public:
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

 private:
  sessions::PeerInfo self_;
  sessions::PeerLimits limits_;
  sessions::PeerCounters counters_;
  sessions::SessionListener listener_;
};

}  // namespace weir::dcm
