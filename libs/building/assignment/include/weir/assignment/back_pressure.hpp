#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/part_table.hpp>
#include <weir/assignment/trigger_gate.hpp>
#include <weir/assignment/words.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// A current cause of held-up triggers.
struct HoldUp {
  std::string reason;
  std::optional<NodeRef> node;           // nullopt: the supervisor itself
  double share = 1;                      // share of time in which triggers are not accepted
  std::optional<GroupIndex> group = {};  // the group of DCMs with too many waiting slices
};

// Tracks the fill levels of the nodes' buffers and their effect on triggers. A node that can take no more
// data holds triggers up; below that the gate lowers the trigger rate according to the fullest buffer. Only
// nodes that take part count. For writers the emptiest counts, and a full writer holds triggers up only if no
// other has room. `pending`: fill level of the list of slices that wait for a DCM, 0 to 1. Pure; one thread.
class BackPressure {
 public:
  explicit BackPressure(GateMarks marks) : gate_(marks) {}

  // Records the fill level of a node's fullest buffer (`level`, clamped to 0..1) in place of its previous
  // report. `on`: the node can take no more data.
  void say(NodeRef node, bool on, double level, std::string_view reason);
  void forget(NodeRef node) { say(node, false, 0, {}); }
  // Recomputes the level. Call after say(), and once per pass, because nodes join and leave.
  void renew(const PartTable& parts, const NodeTable& writers);

  [[nodiscard]] bool stops(const PartTable& parts, const NodeTable& writers) const;
  [[nodiscard]] bool is_open(double pending, TimeNs now) const { return gate_.is_open(level(pending), now); }
  [[nodiscard]] TimeNs opens_at(double pending, TimeNs now) const {
    return gate_.opens_at(level(pending), now);
  }

  // Returns the nodes that can take no more data.
  [[nodiscard]] std::vector<HoldUp> stopped_by(const PartTable& parts, const NodeTable& writers) const;
  // Returns the fullest buffer if it lowers the rate.
  [[nodiscard]] std::optional<HoldUp> slowed_by(double pending) const;
  // For SupervisorMachine::append_state().
  void append_state(TimeNs now, std::vector<std::uint64_t>& out) const;

 private:
  struct Entry {
    NodeRef node;
    bool on = false;
    double level = 0;
    std::string reason;
  };
  [[nodiscard]] static bool counts(const Entry& entry, const PartTable& parts, const NodeTable& writers) {
    return parts.of(entry.node) == Part::in && (entry.node.role != Role::writer || !writers.has_room());
  }
  [[nodiscard]] const Entry* emptiest_writer(const PartTable& parts, const NodeTable& writers) const;
  [[nodiscard]] double level(double pending) const { return pending > level_ ? pending : level_; }

  TriggerGate gate_;
  std::vector<Entry> entries_;  // one for each node with a report to keep
  std::size_t on_ = 0;          // entries with `on` set
  double level_ = 0;            // of the fullest buffer that counts
  std::optional<HoldUp> fullest_;
};

}  // namespace weir::assignment
