#include <weir/lab/plan.hpp>

namespace weir::lab {

std::string LabPlan::space_name(Space space) const {
  if (space == kSwitches) return "switches";
  return space == kControl ? "control" : hosts[space - kFirstHost].name;
}

std::string control_address() { return "10.78.255.254"; }

}  // namespace weir::lab
