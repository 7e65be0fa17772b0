#pragma once

#include <weir/lab/plan.hpp>
#include <weir/packet_switch/packet_switch.hpp>

#include <cstddef>
#include <vector>

namespace weir::lab {

// A software switch of a lab: its interfaces, rings and routes.
struct SoftwareSwitch {
  packet_switch::PacketSwitchSettings settings;
  // Of each of its ports: the index in LabPlan::ports of its sending end; SIZE_MAX: unlimited.
  std::vector<std::size_t> ports;
  bool is_card = false;  // the slow one of a host
};

// Returns the software switches of a lab, and the slow cards behind them. All kinds of queues have the memory
// of the rings. Pure. Requires: plan.software.
[[nodiscard]] std::vector<SoftwareSwitch> software_switches(const LabPlan& plan);

}  // namespace weir::lab
