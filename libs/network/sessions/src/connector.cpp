#include <weir/sessions/connector.hpp>

#include <utility>

namespace weir::sessions {
namespace {

// The time after which TCP itself repeats the first segment of a connection (RFC 6298).
constexpr DurationNs kTcpRepeats = kSecond;

}  // namespace

Connector::Connector(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits,
                     PeerCounters& counters, ports::Endpoint to, DurationNs retry_ns)
    : self_(self),
      handler_(handler),
      limits_(limits),
      counters_(counters),
      to_(std::move(to)),
      retry_ns_(retry_ns) {}

void Connector::tick(ports::Network& network, TimeNs now_ns) {
  if (peer_) {
    peer_->tick(now_ns);
    repeat_if_unanswered(now_ns);
    if (peer_->gone()) {
      if (peer_->was_ready()) down_since_ns_ = now_ns;
      peer_.reset();
      next_attempt_ns_ = at_once_ ? now_ns : now_ns + retry_ns_;
      at_once_ = false;
    }
    return;
  }
  if (stopped_ || now_ns < next_attempt_ns_ || to_.port == 0) return;
  if (down_since_ns_ == 0) down_since_ns_ = now_ns;
  peer_ = std::make_unique<Peer>(self_, handler_, limits_, counters_, now_ns);
  peer_->tag = tag;
  peer_->expect(expected_role_, expected_index_);
  attempted_ns_ = now_ns;
  peer_->connect(network, to_);
}

void Connector::repeat_if_unanswered(TimeNs now_ns) {
  if (peer_->is_answered()) wait_ns_ = patience_ns_;
  if (peer_->is_answered() || peer_->gone() || wait_ns_ == 0 || wait_ns_ >= kTcpRepeats) return;
  if (now_ns - attempted_ns_ < wait_ns_) return;
  wait_ns_ *= 2;
  at_once_ = true;
  peer_->drop("no answer");
}

void Connector::redirect(ports::Endpoint to) {
  if (to == to_) return;
  to_ = std::move(to);
  next_attempt_ns_ = 0;
  wait_ns_ = patience_ns_;
  at_once_ = peer_ != nullptr;
  if (peer_) peer_->drop("moved to another address");
}

}  // namespace weir::sessions
