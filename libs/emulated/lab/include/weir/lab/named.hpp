#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <string>
#include <vector>

// Labs that outlive the process: `weir lab up`. Each namespace has a name, `weir.LAB.HOST`, under /run/netns,
// like those of `ip netns`.
namespace weir::lab {

// Returns "/run/netns/weir.LAB.h0", …, by space.
[[nodiscard]] std::vector<std::string> named_paths(const LabPlan& plan);
// Returns the existing names of a lab, whatever made them.
[[nodiscard]] std::vector<std::string> names_present(const std::string& lab);

// Names the namespaces of a lab. On failure no name is left.
[[nodiscard]] Expected<void, NetworkError> give_names(const LabPlan& plan, const LabNetwork& network);
// Removes the switches' ends of a named lab's relayed links, which ends its relay.
void remove_relayed_links(const LabPlan& plan);
// Removes all names of the lab. Namespaces without processes end.
[[nodiscard]] Expected<void, NetworkError> remove_names(const std::string& lab);

}  // namespace weir::lab
