#pragma once

#include <weir/assignment/actions.hpp>
#include <weir/assignment/policy.hpp>
#include <weir/assignment/words.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::assignment {

// The live nodes, and the credits of the DCMs. For each live DCM:
//   credits = free + assigned and undecided + revoked and undecided
// While a DCM is held back, its free credits are kept apart. A credit with a revoked lease is still in
// use, because the DCM still has the slice in a slot: it returns with the late decision, or when the DCM
// leaves. So a stalled DCM gets no further slices.
class DcmTable {
 public:
  explicit DcmTable(std::size_t places) : views_(places), states_(places) {}

  void join(NodeIndex dcm, Incarnation incarnation, std::uint32_t credits);
  void leave(NodeIndex dcm);
  void take(NodeIndex dcm);
  void give_back(NodeIndex dcm);
  // Withholds all free and returned credits of the DCM until let_go().
  void hold_back(NodeIndex dcm);
  void let_go(NodeIndex dcm);
  void revoke(NodeIndex dcm, SliceId slice, Attempt attempt);
  // Returns the credit of a revoked lease after its late decision. Returns false if no such lease exists.
  bool redeem(NodeIndex dcm, SliceId slice, Attempt attempt);

  // Records progress of the DCM: while it decides, its other slices wait for their turn, which is legitimate.
  void decided(NodeIndex dcm, TimeNs now) { states_[dcm.value].decided_at = now; }
  [[nodiscard]] TimeNs decided_at(NodeIndex dcm) const { return states_[dcm.value].decided_at; }
  // Stores the DCM's latest note, limited to as many slices as it has credits.
  void note_filter(NodeIndex dcm, const FilterNote& note, TimeNs now);
  // Returns when the DCM first reported the slice as long in its filter; nullopt if it does not.
  [[nodiscard]] std::optional<TimeNs> noted_at(NodeIndex dcm, const Lease& lease) const;
  [[nodiscard]] const FilterNote& in_filter(NodeIndex dcm) const { return states_[dcm.value].in_filter; }

  [[nodiscard]] std::span<const DcmView> views() const { return views_; }
  [[nodiscard]] bool live(NodeIndex dcm) const { return dcm.value < views_.size() && views_[dcm.value].live; }
  [[nodiscard]] std::uint32_t assigned(NodeIndex dcm) const { return states_[dcm.value].assigned; }
  [[nodiscard]] std::size_t revoked(NodeIndex dcm) const { return states_[dcm.value].revoked.size(); }
  [[nodiscard]] std::uint32_t kept(NodeIndex dcm) const { return states_[dcm.value].kept; }
  [[nodiscard]] Incarnation incarnation(NodeIndex dcm) const { return states_[dcm.value].incarnation; }
  [[nodiscard]] std::uint64_t credits_free() const { return credits_free_; }  // of all DCMs

  [[nodiscard]] std::span<const Lease> revoked_leases(NodeIndex dcm) const {
    return states_[dcm.value].revoked;
  }

 private:
  struct State {
    Incarnation incarnation;
    std::uint32_t assigned = 0;
    bool held_back = false;
    std::uint32_t kept = 0;         // free credits while it is held back
    std::vector<Lease> revoked;     // at most `credits`
    FilterNote in_filter;           // for_long by slice and attempt
    std::vector<TimeNs> noted_at;   // of in_filter.for_long
    TimeNs decided_at = INT64_MIN;  // the last decision; the initial value: never
  };

  void came_back(NodeIndex dcm);

  std::vector<DcmView> views_;
  std::vector<State> states_;
  std::uint64_t credits_free_ = 0;
};

// Readouts or writers.
class NodeTable {
 public:
  explicit NodeTable(std::size_t places) : nodes_(places) {}

  void join(NodeIndex node, Incarnation incarnation) {
    nodes_[node.value] = {true, false, false, incarnation};
  }
  void leave(NodeIndex node) { nodes_[node.value].live = false; }
  [[nodiscard]] bool live(NodeIndex node) const {
    return node.value < nodes_.size() && nodes_[node.value].live;
  }
  [[nodiscard]] Incarnation incarnation(NodeIndex node) const { return nodes_[node.value].incarnation; }
  [[nodiscard]] std::size_t places() const { return nodes_.size(); }
  // Excludes a node from the choice, or admits it again.
  void close(NodeIndex node, bool closed) { nodes_[node.value].closed = closed; }
  // A full node is chosen only if no other is available.
  void set_full(NodeIndex node, bool full) { nodes_[node.value].full = full; }
  // True if another node can be chosen.
  [[nodiscard]] bool has_other(NodeIndex node) const;
  [[nodiscard]] bool has_room() const;  // a node that is not full can be chosen
  // The node that next() chose last.
  [[nodiscard]] std::size_t last() const { return last_; }
  // Returns the next live node in turn, or kNoNode. `unreached` and `silent` are chosen only if no other is
  // available.
  [[nodiscard]] NodeIndex next(NodeIndex silent = kNoNode, std::span<const NodeIndex> unreached = {});
  // As above, and the other node is not in `unreached`.
  [[nodiscard]] bool has_other(NodeIndex node, std::span<const NodeIndex> unreached) const;

 private:
  struct Node {
    bool live = false;
    bool closed = false;
    bool full = false;
    Incarnation incarnation;
  };
  std::vector<Node> nodes_;
  std::size_t last_ = SIZE_MAX - 1;
};

}  // namespace weir::assignment
