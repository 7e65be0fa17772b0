#pragma once

#include <weir/assignment/node_tables.hpp>
#include <weir/assignment/part_table.hpp>
#include <weir/assignment/trigger_gate.hpp>
#include <weir/assignment/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// Something that holds triggers up at present.
struct HoldUp {
  std::string reason;
  std::optional<NodeRef> node;           // none: the supervisor's own
  double share = 1;                      // of the time in which triggers are not accepted
  std::optional<GroupIndex> group = {};  // of DCMs, for which too many slices wait
};

// How full the nodes' buffers are, and what that does to triggers. A node that can take nothing more holds
// them up; below that the gate lowers their rate, by the fullest buffer. Only nodes that take part count. Of
// writers the emptiest counts, and none holds triggers up while another has room.
// `pending`: how full the list of slices is that wait for a DCM, 0 to 1. Pure; one thread.
class BackPressure {
 public:
  explicit BackPressure(GateMarks marks) : gate_(marks) {}

  // What a node says of its fullest buffer (`level`: 0 to 1, whatever comes is brought to that), instead of
  // what it said before. `on`: it can take nothing more.
  void say(NodeRef node, bool on, double level, std::string_view reason);
  void forget(NodeRef node) { say(node, false, 0, {}); }
  // The level of now: after say(), and once in a pass, for nodes come and go.
  void renew(const PartTable& parts, const NodeTable& writers);

  [[nodiscard]] bool stops(const PartTable& parts, const NodeTable& writers) const;
  [[nodiscard]] bool is_open(double pending, TimeNs now) const { return gate_.is_open(level(pending), now); }
  [[nodiscard]] TimeNs opens_at(double pending, TimeNs now) const {
    return gate_.opens_at(level(pending), now);
  }

  // The nodes that can take nothing more.
  [[nodiscard]] std::vector<HoldUp> stopped_by(const PartTable& parts, const NodeTable& writers) const;
  // The fullest buffer, where it lowers the rate.
  [[nodiscard]] std::optional<HoldUp> slowed_by(double pending) const;
  // SupervisorMachine::append_state()
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
  std::vector<Entry> entries_;  // one of each node that has anything to say
  std::size_t on_ = 0;          // entries that are
  double level_ = 0;            // of the fullest that counts
  std::optional<HoldUp> fullest_;
};

}  // namespace weir::assignment
