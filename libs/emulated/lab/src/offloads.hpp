#pragma once

#include <weir/lab/plan.hpp>

#include <string>

namespace weir::lab {

// Sets the TCP offloads of a device in the calling thread's namespace. Throws std::runtime_error.
void set_offloads(const std::string& device, Offloads offloads);
// The same for an end of a relayed link, which leaves checksums to the kernel.
void set_relayed_offloads(const std::string& device, Offloads offloads);

}  // namespace weir::lab
