#pragma once

#include <weir/base/role.hpp>
#include <weir/config/plan.hpp>
#include <weir/v1/farm.pb.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// The farm as one of its nodes has it: what the node's entry in `nodes` gives, else what the entry's profile
// gives, else what holds for all.
struct NodeFarm {
  // Without the lists of nodes and profiles.
  v1::Farm farm;
  // The keys of which the node has its own, as "readout.buffer_bytes" -> "readout.nodes[3].buffer_bytes".
  std::map<std::string, std::string, std::less<>> own;

  std::string entry;  // "readout.nodes[3]"; empty: the node is one of `count`

  // Where this node's value of `key` ("readout.buffer_bytes") is given, if it is given at all.
  [[nodiscard]] std::string key_of(std::string_view key) const;
  // Where the node's entry would give it: "readout.nodes[3].buffer_bytes"; `key` itself without an entry.
  [[nodiscard]] std::string key_in_entry(std::string_view key) const;
};

// Makes them. Pure; the farm outlives it.
class NodeFarms {
 public:
  explicit NodeFarms(const v1::Farm& farm);

  // `entry`: which one of its role's `nodes`, or kNoEntry. A profile that is not there counts as empty.
  [[nodiscard]] NodeFarm of(Role role, int entry) const;
  [[nodiscard]] NodeFarm of(const NodePlan& node) const { return of(node.role, node.entry); }

  // The plan's nodes of a role that have one NodeFarm, kind by kind, in the plan's order.
  struct Kind {
    NodeFarm shared;
    std::vector<const NodePlan*> nodes;
  };
  [[nodiscard]] std::vector<Kind> kinds(const FarmPlan& plan, Role role) const;

 private:
  const v1::Farm& farm_;
  v1::Farm common_;  // without what grows with the farm: a farm of thousands copies no thousands of entries
};

}  // namespace weir::config
