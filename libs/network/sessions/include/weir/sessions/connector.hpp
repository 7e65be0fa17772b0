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
  // Repeats an attempt that the far host does not answer: at first after this time, then after twice as long
  // each time, while that is shorter than TCP's own second. 0: leaves it to TCP.
  void set_patience(DurationNs first_ns) { patience_ns_ = wait_ns_ = first_ns; }
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
  void repeat_if_unanswered(TimeNs now_ns);

  const PeerInfo& self_;
  PeerHandler& handler_;
  const PeerLimits& limits_;
  PeerCounters& counters_;
  ports::Endpoint to_;
  DurationNs retry_ns_;
  DurationNs patience_ns_ = 0;
  DurationNs wait_ns_ = 0;  // of the present attempt
  std::unique_ptr<Peer> peer_;
  TimeNs attempted_ns_ = 0;
  TimeNs next_attempt_ns_ = 0;
  TimeNs down_since_ns_ = 0;
  Role expected_role_ = Role::unknown;
  NodeIndex expected_index_;
  bool at_once_ = false;  // lost because of redirect() or patience: the next attempt follows at once
  bool stopped_ = false;
};

}  // namespace weir::sessions
