#pragma once

#include <weir/base/ids.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace weir::storage {

// One connection of a DCM; a number that is used once in a writer's life.
using PeerId = StrongId<struct PeerIdTag, std::uint32_t>;

struct Grant {
  PeerId peer;
  std::uint64_t granted_total = 0;  // cumulative, in bytes
};

struct GrantCounters {
  std::uint64_t asks = 0;
  std::uint64_t grants = 0;
  std::uint64_t bytes_granted = 0;
  std::uint64_t oversize = 0;     // grants beyond the bound, each alone
  std::uint64_t violations = 0;   // more received than granted, a total that went down, too many asks
  std::uint64_t charged_max = 0;  // bytes, highest so far
};

// How many bytes each peer may send to a writer whose buffer has a bound. Totals are cumulative, so that a
// repeated message does no harm. One ask is one record, and is granted whole, so that two peers with half a
// grant each never wait for each other.
//
// The peer with the fewest bytes charged is next. It gets its ask when that fits into what is free, and is at
// most kShareOfFree times what is free together with what it has (dynamic thresholds: Choudhury and Hahne,
// 1998): one peer alone can use most of the buffer, and peers that hold grants without sending leave room for
// the others. While the next peer's ask does not fit, no other is served: small records do not starve a
// large one. A record larger than the bound is granted when nothing else is charged.
//
// A peer gives back at once what it was granted and has nothing to send for (the slice went to another
// writer): an unused grant would keep room from the others.
//
// Charged: granted and not released. Invariant: charged <= bound, or charged is one oversize ask. One thread;
// at most peers_max peers with asks_max asks each.
class GrantBook {
 public:
  static constexpr std::uint64_t kShareOfFree = 4;

  GrantBook(std::uint64_t bound_bytes, std::size_t peers_max, std::size_t asks_max);

  // False: peers_max are there.
  [[nodiscard]] bool connect(PeerId peer);
  // What it was granted and did not send is free at once; what it sent stays charged until it is released.
  void disconnect(PeerId peer);
  // The peer wants to have sent `wanted_total` bytes; the step from its last ask is one ask. False: the total
  // went down, the peer is confused.
  [[nodiscard]] bool ask(PeerId peer, std::uint64_t wanted_total);
  // Bytes of a record arrived. False: more than granted.
  [[nodiscard]] bool received(PeerId peer, std::uint64_t bytes);
  // Of what it was granted the peer will not send `returned_total` bytes, cumulative. False: it does not hold
  // that many, or the total went down.
  [[nodiscard]] bool give_back(PeerId peer, std::uint64_t returned_total);
  // The record is on disk, or refused; also for a peer that is gone.
  void release(PeerId peer, std::uint64_t bytes);

  // Appends what can be granted now: at most one line for each peer, ascending. A grant costs the logarithm
  // of the peers that ask.
  void grant(std::vector<Grant>& out);

  [[nodiscard]] std::uint64_t bound_bytes() const { return bound_bytes_; }
  // What the invariant is about; for tests, which hold it against what peers did.
  [[nodiscard]] std::uint64_t charged_bytes() const { return charged_bytes_; }
  [[nodiscard]] std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  [[nodiscard]] std::size_t peers() const { return peers_.size(); }
  [[nodiscard]] const GrantCounters& counters() const { return counters_; }
  // Peers that were looked at: what granting has cost.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Peer {
    std::deque<std::uint64_t> asks;  // totals, ascending
    std::uint64_t wanted_total = 0;
    std::uint64_t granted_total = 0;
    std::uint64_t received_total = 0;
    std::uint64_t released_total = 0;
    std::uint64_t returned_total = 0;  // counts as received and released
    std::uint64_t turn = 0;            // when it was last served: breaks ties
    bool told = true;                  // of granted_total; else in untold_

    [[nodiscard]] std::uint64_t charged() const { return granted_total - released_total; }
  };

  // Whose turn it is: the lowest one's.
  struct Turn {
    std::uint64_t charged = 0;
    std::uint64_t turn = 0;
    PeerId peer;
    auto operator<=>(const Turn&) const = default;
  };
  [[nodiscard]] static Turn turn_of(PeerId id, const Peer& peer) { return {peer.charged(), peer.turn, id}; }

  [[nodiscard]] bool admissible(const Peer& peer, std::uint64_t bytes) const;

  std::uint64_t bound_bytes_;
  std::size_t peers_max_;
  std::size_t asks_max_;
  std::map<PeerId, Peer> peers_;
  std::set<Turn> askers_;       // the peers with asks
  std::vector<PeerId> untold_;  // while grant() runs
  std::uint64_t charged_bytes_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t orphaned_bytes_ = 0;  // charged for peers that are gone
  std::uint64_t turns_ = 0;
  std::uint64_t steps_ = 0;
  GrantCounters counters_;
};

}  // namespace weir::storage
