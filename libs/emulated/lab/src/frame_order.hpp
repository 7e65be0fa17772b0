#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/lab/plan.hpp>

#include <vector>

namespace weir::lab {

// Makes a single CPU receive each host's frames (receive packet steering). A port's frames leave on several
// CPUs in turn; without this they overtake each other on their last step, which TCP takes for loss. (Between
// a host and its switch some still do, when its process moves to another CPU; steering there too would cost a
// fifth of the machine's capacity.) Returns false if this kernel or container does not allow it.
[[nodiscard]] bool keep_frame_order(const LabPlan& plan, const std::vector<OwnedDescriptor>& spaces);

}  // namespace weir::lab
