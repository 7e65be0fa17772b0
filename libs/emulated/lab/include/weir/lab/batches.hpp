#pragma once

#include <weir/lab/plan.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

// Programs of iproute2; each reads lines in its own language with `-batch -`.
enum class Tool : std::uint8_t { ip, bridge, tc };

struct Batch {
  Space space = kSwitches;  // where it runs
  Tool tool = Tool::ip;
  std::string lines;
};

// Returns the commands that build the network, in order. Requires: the namespaces exist and are empty;
// `paths` names the file of each (/proc/…/fd/N, /run/netns/…). Pure.
[[nodiscard]] std::vector<Batch> set_up_batches(const LabPlan& plan, const std::vector<std::string>& paths);

// Returns the line for `tc` that changes a port, to be run in the port's namespace. Pure.
[[nodiscard]] std::string change_line(const LabPlan& plan, const PortChange& change);

// Returns the lines for `bridge`, in the control network, that cut the hosts at the far end of the line off
// from it or connect them again. Pure.
[[nodiscard]] std::string far_control_lines(const LabPlan& plan, bool down);

// Returns the lines for `ip`, at the switches, that cut a part of a plane off or connect it again. Pure.
[[nodiscard]] std::string cut_lines(const PlaneCut& cut, bool down);

}  // namespace weir::lab
