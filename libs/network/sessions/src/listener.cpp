#include <weir/base/assert.hpp>
#include <weir/sessions/listener.hpp>

#include <algorithm>
#include <utility>

namespace weir::sessions {

SessionListener::SessionListener(const PeerInfo& self, PeerHandler& handler, const PeerLimits& limits,
                                 PeerCounters& counters, const TimeNs& now_ns)
    : self_(self), handler_(handler), limits_(limits), counters_(counters), now_ns_(now_ns) {}

Expected<ports::Endpoint, std::string> SessionListener::open(ports::Network& network,
                                                             const ports::Endpoint& at) {
  WEIR_ASSERT(!socket_);
  auto socket = network.listen(at, *this);
  if (!socket) return Unexpected<std::string>(socket.error());
  socket_ = std::move(*socket);
  return socket_->endpoint();
}

ports::StreamHandler* SessionListener::on_accept(std::unique_ptr<ports::Stream> stream) {
  if (peers_.size() >= limits_.connections_max) {
    ++counters_.refused_full;
    // A node of the farm completes its hello long before the timeout, so connections that only wait cannot
    // keep it out.
    const auto oldest = std::find_if(peers_.begin(), peers_.end(),
                                     [](const auto& peer) { return !peer->ready() && !peer->gone(); });
    if (oldest == peers_.end()) return nullptr;
    (*oldest)->drop("another one needs the place");
  }
  ++counters_.accepted;
  peers_.push_back(std::make_unique<Peer>(self_, handler_, limits_, counters_, now_ns_));
  peers_.back()->adopt(std::move(stream));
  return peers_.back().get();
}

void SessionListener::tick() {
  for (const auto& peer : peers_) peer->tick(now_ns_);
  std::erase_if(peers_, [](const auto& peer) { return peer->gone(); });
}

}  // namespace weir::sessions
