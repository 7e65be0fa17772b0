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

// One connection of a DCM; a number that a writer process uses once.
using PeerId = StrongId<struct PeerIdTag, std::uint32_t>;

struct Grant {
  PeerId peer;
  std::uint64_t granted_total = 0;  // cumulative, in bytes
};

struct GrantCounters {
  std::uint64_t asks = 0;
  std::uint64_t grants = 0;
  std::uint64_t bytes_granted = 0;
  std::uint64_t oversize = 0;     // grants beyond the bound, each on its own
  std::uint64_t violations = 0;   // more bytes than granted, a total that fell, a request too large, too many
  std::uint64_t charged_max = 0;  // bytes, highest so far
};

// Decides how many bytes each peer may send to a writer with a bounded buffer. Totals are cumulative, so that
// a
// repeated message does no harm. One request is for one record, and is granted as a whole, so that two peers
// with half a grant each never wait for each other.
//
// The peer with the fewest bytes charged is next. Its request is granted if it fits into the free space, and
// is at most kShareOfFree times the free space plus its own grants (dynamic thresholds: Choudhury and Hahne,
// 1998): a single peer can use most of the buffer, and peers that hold grants without sending leave room for
// the others. While the next peer's request does not fit, no other is served, so that small records do not
// starve a large one. A record larger than the bound is granted if no other bytes are charged.
//
// A peer returns at once a grant that it will not use (the slice went to another writer), because it would
// keep room from the others.
//
// Charged: granted and not released. Invariant: charged <= bound, or charged is one oversize request. Not
// thread-safe; at most peers_max peers with asks_max requests each.
class GrantBook {
 public:
  static constexpr std::uint64_t kShareOfFree = 4;
  static constexpr std::uint64_t kAskMax = std::uint64_t{64}
                                           << 30U;  // bytes of the longest record (wire::kRecordBytesMax)

  GrantBook(std::uint64_t bound_bytes, std::size_t peers_max, std::size_t asks_max);

  // Returns false if peers_max are connected.
  [[nodiscard]] bool connect(PeerId peer);
  // Frees the peer's unsent grants at once; sent bytes stay charged until they are released.
  void disconnect(PeerId peer);
  // The peer wants to have sent `wanted_total` bytes; the difference to its last request is one request.
  // Returns false if the total has fallen, or the request is above kAskMax: the peer is faulty.
  [[nodiscard]] bool ask(PeerId peer, std::uint64_t wanted_total);
  // Bytes of a record have arrived. Returns false if they are more than granted.
  [[nodiscard]] bool received(PeerId peer, std::uint64_t bytes);
  // The peer will not use `returned_total` bytes of its grants, cumulative. Returns false if it does not hold
  // that many, or if the total has fallen.
  [[nodiscard]] bool give_back(PeerId peer, std::uint64_t returned_total);
  // The record is on disk, or refused. Also called for a disconnected peer.
  void release(PeerId peer, std::uint64_t bytes);

  // Appends the grants that are possible now: at most one per peer, ascending. A grant costs the logarithm of
  // the number of requesting peers.
  void grant(std::vector<Grant>& out);

  [[nodiscard]] std::uint64_t bound_bytes() const { return bound_bytes_; }
  // The bytes in the invariant; for tests, which compare them with the peers' actions.
  [[nodiscard]] std::uint64_t charged_bytes() const { return charged_bytes_; }
  [[nodiscard]] std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  [[nodiscard]] std::size_t peers() const { return peers_.size(); }
  [[nodiscard]] const GrantCounters& counters() const { return counters_; }
  // Returns how many peers have been visited: the cost of granting.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  struct Peer {
    std::deque<std::uint64_t> asks;  // totals, ascending
    std::uint64_t wanted_total = 0;
    std::uint64_t granted_total = 0;
    std::uint64_t received_total = 0;
    std::uint64_t released_total = 0;
    std::uint64_t returned_total = 0;  // counts as received and released
    std::uint64_t turn = 0;            // when it was last served, as a tie-breaker
    bool told = true;                  // granted_total was reported; otherwise the peer is in untold_

    [[nodiscard]] std::uint64_t charged() const { return granted_total - released_total; }
  };

  // The order of turns: the lowest is served next.
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
  std::set<Turn> askers_;       // peers with requests
  std::vector<PeerId> untold_;  // used while grant() runs
  std::uint64_t charged_bytes_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t orphaned_bytes_ = 0;  // charged for disconnected peers
  std::uint64_t turns_ = 0;
  std::uint64_t steps_ = 0;
  GrantCounters counters_;
};

}  // namespace weir::storage
