#pragma once

#include <weir/sessions/peer.hpp>

#include <memory>

namespace weir::sessions {

// The connecting side; reconnects after a loss.
class Connector {
 public:
  Connector(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits, PeerCounters& counters,
            ports::Endpoint to, DurationNs retry_ns);

  // To be called once per pass: connects when due, frees a lost peer.
  void tick(ports::Network& network, TimeNs now_ns);
  void redirect(ports::Endpoint to);
  // Sets the peer that is expected at this address.
  void expect(Role role, NodeIndex index) {
    expected_role_ = role;
    expected_index_ = index;
  }
  // Stops connecting.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool ready() const { return peer_ && peer_->ready(); }
  [[nodiscard]] Peer& peer() { return *peer_; }
  [[nodiscard]] const ports::Endpoint& to() const { return to_; }
  // Returns when the connection was lost, or first attempted; failed attempts do not change it. Only valid
  // while not ready.
  [[nodiscard]] TimeNs down_since_ns() const { return down_since_ns_; }

  std::uint64_t tag = 0;  // passed to each peer

 private:
  const PeerInfo& self_;
  PeerHandler& handler_;
  const PeerLimits& limits_;
  PeerCounters& counters_;
  ports::Endpoint to_;
  DurationNs retry_ns_;
  std::unique_ptr<Peer> peer_;
  TimeNs next_attempt_ns_ = 0;
  TimeNs down_since_ns_ = 0;
  Role expected_role_ = Role::unknown;
  NodeIndex expected_index_;
  bool moved_ = false;  // lost because of redirect(): the next attempt follows at once
  bool stopped_ = false;
};

}  // namespace weir::sessions
