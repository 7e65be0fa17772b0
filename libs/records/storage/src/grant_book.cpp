#include <weir/base/assert.hpp>
#include <weir/base/planted.hpp>
#include <weir/storage/grant_book.hpp>

#include <algorithm>
#include <utility>

namespace weir::storage {

GrantBook::GrantBook(std::uint64_t bound_bytes, std::size_t peers_max, std::size_t asks_max)
    : bound_bytes_(bound_bytes), peers_max_(peers_max), asks_max_(asks_max) {
  WEIR_ASSERT(bound_bytes > 0 && peers_max > 0 && asks_max > 0);
  WEIR_ASSERT(peers_max <= UINT64_MAX / kAskMax / asks_max);  // the sum of all requests fits
}

bool GrantBook::connect(PeerId peer) {
  if (peers_.size() >= peers_max_) return false;
  return peers_.try_emplace(peer).second;
}

void GrantBook::disconnect(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  const Peer& gone = found->second;
  askers_.erase(turn_of(peer, gone));
  WEIR_ASSERT(gone.granted_total - gone.received_total <= charged_bytes_);
  charged_bytes_ -= gone.granted_total - gone.received_total;
  orphaned_bytes_ += gone.received_total - gone.released_total;
  WEIR_ASSERT(gone.wanted_total - gone.granted_total <= waiting_bytes_);
  waiting_bytes_ -= gone.wanted_total - gone.granted_total;
  peers_.erase(found);
}

bool GrantBook::ask(PeerId peer, std::uint64_t wanted_total) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  Peer& asking = found->second;
  if (wanted_total == asking.wanted_total) return true;
  if (wanted_total < asking.wanted_total || wanted_total - asking.wanted_total > kAskMax ||
      asking.asks.size() >= asks_max_) {
    ++counters_.violations;
    return false;
  }
  ++counters_.asks;
  waiting_bytes_ += wanted_total - asking.wanted_total;
  asking.wanted_total = wanted_total;
  WEIR_ASSERT(asking.asks.empty() || asking.asks.back() < wanted_total);
  asking.asks.push_back(wanted_total);
  if (asking.asks.size() == 1) askers_.insert(turn_of(peer, asking));
  return true;
}

bool GrantBook::received(PeerId peer, std::uint64_t bytes) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  Peer& sender = found->second;
  if (bytes > sender.granted_total - sender.received_total) {
    ++counters_.violations;
    return false;
  }
  sender.received_total += bytes;
  return true;
}

bool GrantBook::give_back(PeerId peer, std::uint64_t returned_total) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  Peer& holder = found->second;
  const std::uint64_t held = holder.granted_total - holder.received_total;
  if (returned_total < holder.returned_total || returned_total - holder.returned_total > held) {
    ++counters_.violations;
    return false;
  }
  const std::uint64_t bytes = returned_total - std::exchange(holder.returned_total, returned_total);
  holder.received_total += bytes;
  release(peer, bytes);
  return true;
}

void GrantBook::release(PeerId peer, std::uint64_t bytes) {
  if (planted(Planted::never_release_grants)) return;
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    WEIR_ASSERT(bytes <= orphaned_bytes_);
    orphaned_bytes_ -= bytes;
  } else {
    Peer& owner = found->second;
    WEIR_ASSERT(bytes <= owner.received_total - owner.released_total);
    const bool asks = askers_.erase(turn_of(peer, owner)) > 0;
    owner.released_total += bytes;
    if (asks) askers_.insert(turn_of(peer, owner));
  }
  WEIR_ASSERT(bytes <= charged_bytes_);
  charged_bytes_ -= bytes;
}

void GrantBook::grant(std::vector<Grant>& out) {
  while (!askers_.empty()) {
    ++steps_;
    const PeerId id = askers_.begin()->peer;
    Peer& peer = peers_.at(id);
    WEIR_ASSERT(!peer.asks.empty() && peer.asks.front() > peer.granted_total);
    const std::uint64_t bytes = peer.asks.front() - peer.granted_total;
    if (!admissible(peer, bytes)) break;
    askers_.erase(askers_.begin());
    peer.granted_total = peer.asks.front();
    peer.asks.pop_front();
    peer.turn = ++turns_;
    if (!peer.asks.empty()) askers_.insert(turn_of(id, peer));
    if (std::exchange(peer.told, false)) untold_.push_back(id);
    charged_bytes_ += bytes;
    WEIR_ASSERT(bytes <= waiting_bytes_);
    waiting_bytes_ -= bytes;
    ++counters_.grants;
    counters_.bytes_granted += bytes;
    if (bytes > bound_bytes_) ++counters_.oversize;
    counters_.charged_max = std::max(counters_.charged_max, charged_bytes_);
  }
  std::sort(untold_.begin(), untold_.end());
  for (const PeerId id : untold_) {
    ++steps_;
    Peer& peer = peers_.at(id);
    peer.told = true;
    out.push_back({id, peer.granted_total});
  }
  untold_.clear();
}

bool GrantBook::admissible(const Peer& peer, std::uint64_t bytes) const {
  if (charged_bytes_ == 0) return true;
  if (charged_bytes_ >= bound_bytes_) return false;
  const std::uint64_t free = bound_bytes_ - charged_bytes_;
  if (bytes > free) return false;
  return peer.charged() == 0 || (peer.charged() + bytes) / kShareOfFree <= free - bytes;
}

}  // namespace weir::storage
