#pragma once

#include <weir/sessions/peer.hpp>

#include <memory>

namespace weir::sessions {

// The side that connects, and again after a loss.
class Connector {
 public:
  Connector(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits, PeerCounters& counters,
            ports::Endpoint to, DurationNs retry_ns);

  // Once per pass: connects when due, frees a peer that is gone.
  void tick(ports::Network& network, TimeNs now_ns);
  void redirect(ports::Endpoint to);
  // The peer that is expected there.
  void expect(Role role, NodeIndex index) {
    expected_role_ = role;
    expected_index_ = index;
  }
  // No more attempts.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool ready() const { return peer_ && peer_->ready(); }
  [[nodiscard]] Peer& peer() { return *peer_; }
  [[nodiscard]] const ports::Endpoint& to() const { return to_; }
  // Since the loss, or since the first attempt; failed attempts do not count anew. Meaningful while not
  // ready.
  [[nodiscard]] TimeNs down_since_ns() const { return down_since_ns_; }

  std::uint64_t tag = 0;  // given to each peer

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
  bool moved_ = false;  // gone because of redirect(): no wait before the next attempt
  bool stopped_ = false;
};

}  // namespace weir::sessions
