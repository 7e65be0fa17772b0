#pragma once

#include <weir/messages/peer.hpp>

#include <string_view>

namespace weir::supervisor::test {

// A connection of which a roster looks at the address and the mark alone.
struct DeafPeer {
  messages::PeerInfo self;
  messages::PeerLimits limits;
  messages::PeerCounters counters;
  struct Deaf final : messages::PeerHandler {
    void on_ready(messages::Peer&) override {}
    void on_gone(messages::Peer&, std::string_view) override {}
    Expected<void, wire::WireError> on_control(messages::Peer&, const v1::Control&) override { return {}; }
  } deaf;
  messages::Peer peer{self, deaf, limits, counters, 0};
};

}  // namespace weir::supervisor::test
