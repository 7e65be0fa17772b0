#include <weir/lab/plan.hpp>

namespace weir::lab {

std::string LabPlan::space_name(Space space) const {
  if (space == kSwitches) return "switches";
  return space == kControl ? "control" : hosts[space - kFirstHost].name;
}

std::vector<Port> LabPlan::counted_ports() const {
  std::vector<Port> counted = ports;
  if (!line) return counted;
  for (const std::size_t from : {0, 1}) {
    counted.push_back({switches[from] + ">" + switches[1 - from], kSwitches,
                       from == 0 ? line->from_device : line->to_device, line->rate_bits_per_s,
                       line->buffer_bytes, false});
  }
  return counted;
}

std::string control_address() { return "10.78.255.254"; }

}  // namespace weir::lab
