#pragma once

#include <weir/base/role.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// The farm with one node's settings: from its entry in `nodes`, else from the entry's profile, else the
// shared ones.
struct NodeFarm {
  // Without the lists of nodes and profiles.
  v1::Farm farm;
  // The keys that the node overrides, as "readout.buffer_bytes" -> "readout.nodes[3].buffer_bytes".
  std::map<std::string, std::string, std::less<>> own;

  std::string entry;  // "readout.nodes[3]"; empty: the node is one of `count`

  // Returns the key that gives this node's value of `key` ("readout.buffer_bytes"), if any does.
  [[nodiscard]] std::string key_of(std::string_view key) const;
  // Returns the key in the node's entry: "readout.nodes[3].buffer_bytes"; `key` itself if the node has no
  // entry.
  [[nodiscard]] std::string key_in_entry(std::string_view key) const;
};

// Makes NodeFarms. Pure. Requires: the farm outlives it.
class NodeFarms {
 public:
  explicit NodeFarms(const v1::Farm& farm);

  // `entry`: index in its role's `nodes`, or kNoEntry. An unknown profile counts as empty.
  [[nodiscard]] NodeFarm of(Role role, int entry) const;
  [[nodiscard]] NodeFarm of(const NodePlan& node) const { return of(node.role, node.entry); }

  // The plan's nodes of a role that share one NodeFarm, in the plan's order.
  struct Kind {
    NodeFarm shared;
    std::vector<const NodePlan*> nodes;
  };
  [[nodiscard]] std::vector<Kind> kinds(const FarmPlan& plan, Role role) const;

 private:
  const v1::Farm& farm_;
  v1::Farm common_;  // without the lists of nodes: a farm of thousands does not copy thousands of entries
};

}  // namespace weir::config
