#pragma once

#include "descriptor.hpp"
#include <weir/lab/plan.hpp>

#include <vector>

namespace weir::lab {

// Has each host's frames received by one CPU alone (receive packet steering). A port's frames leave in turn
// on several CPUs; without this they overtake each other on their last step, and TCP takes that for loss.
// (Between a host and its switch some still do, when its process moves to another CPU; steering there, too,
// would cost a fifth of what the machine can carry.) False: this kernel or container does not let it.
[[nodiscard]] bool keep_frame_order(const LabPlan& plan, const std::vector<Descriptor>& spaces);

}  // namespace weir::lab
