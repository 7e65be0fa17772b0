#pragma once

#include <weir/base/expected.hpp>
#include <weir/lab/network.hpp>
#include <weir/lab/plan.hpp>

#include <string>
#include <vector>

// Labs that stay when the process ends: `weir lab up`. Each namespace has a name, `weir.LAB.HOST`, under
// /run/netns, as `ip netns` has it.
namespace weir::lab {

// "/run/netns/weir.LAB.h0", by space.
[[nodiscard]] std::vector<std::string> named_paths(const LabPlan& plan);
// Those of a lab's names that are there, whatever made them.
[[nodiscard]] std::vector<std::string> names_present(const std::string& lab);

// Gives a lab that was made its names. On failure none is left.
[[nodiscard]] Expected<void, NetworkError> give_names(const LabPlan& plan, const Network& network);
// Removes the devices of a named lab's line, so that its relay ends.
void remove_line(const LabPlan& plan);
// Takes all names of the lab away. What has no process left ends then.
[[nodiscard]] Expected<void, NetworkError> remove_names(const std::string& lab);

}  // namespace weir::lab
