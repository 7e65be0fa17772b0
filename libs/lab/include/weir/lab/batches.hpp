#pragma once

#include <weir/lab/plan.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

// Programs of iproute2; each reads lines of its own language with `-batch -`.
enum class Tool : std::uint8_t { ip, bridge, tc };

struct Batch {
  Space space = kSwitches;  // where it runs
  Tool tool = Tool::ip;
  std::string lines;
};

// What makes the network, in this order. The spaces are there, empty, and `paths` names the file of each
// (/proc/…/fd/N, /run/netns/…). Pure.
[[nodiscard]] std::vector<Batch> set_up_batches(const LabPlan& plan, const std::vector<std::string>& paths);

// What `tc` is told, in the space of the port, when it changes. Pure.
[[nodiscard]] std::string change_line(const LabPlan& plan, const PortChange& change);

}  // namespace weir::lab
