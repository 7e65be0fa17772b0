#pragma once

#include <weir/sessions/peer.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::sessions {

// The listening side. Owns the accepted peers.
class SessionListener final : public ports::Acceptor {
 public:
  SessionListener(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits,
                  PeerCounters& counters, const TimeNs& now_ns);

  // Listens. The error is a sentence that names the endpoint.
  [[nodiscard]] Expected<ports::Endpoint, std::string> open(ports::Network& network,
                                                            const ports::Endpoint& at);
  void close() { socket_.reset(); }
  // To be called once per pass: drops peers without a hello in time, frees lost peers.
  void tick();
  [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const { return peers_; }

 private:
  ports::StreamHandler* on_accept(std::unique_ptr<ports::Stream> stream) override;

  const PeerInfo& self_;
  PeerHandler& handler_;
  const PeerLimits& limits_;
  PeerCounters& counters_;
  const TimeNs& now_ns_;
  std::unique_ptr<ports::Listener> socket_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace weir::sessions
