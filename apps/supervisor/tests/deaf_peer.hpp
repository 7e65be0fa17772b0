#pragma once

#include <weir/sessions/peer.hpp>

#include <string_view>

namespace weir::supervisor::test {

// A connection of which a roster looks at the address and the mark alone.
struct DeafPeer {
  sessions::PeerInfo self;
  sessions::PeerLimits limits;
  sessions::PeerCounters counters;
  struct Deaf final : sessions::PeerHandler {
    void on_ready(sessions::Peer&) override {}
    void on_gone(sessions::Peer&, std::string_view) override {}
    Expected<void, wire::WireError> on_control(sessions::Peer&, const v1::Control&) override { return {}; }
  } deaf;
  sessions::Peer peer{self, deaf, limits, counters, 0};
};

}  // namespace weir::supervisor::test
