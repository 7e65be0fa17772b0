#pragma once

#include <weir/lab/plan.hpp>

#include <string>

namespace weir::lab {

// Sets what a device of the calling thread's namespace does for TCP. Throws std::runtime_error.
void set_offloads(const std::string& device, Offloads offloads);

}  // namespace weir::lab
