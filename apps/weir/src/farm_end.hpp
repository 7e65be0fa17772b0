#pragma once

#include <weir/v1/bus.pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::commands {

// True if connections to this address are refused.
[[nodiscard]] bool nothing_listens(const std::string& host, std::uint16_t port);

// Waits until run control's address is free, and until the farm's processes on this machine have ended.
// Returns those left after `patience_s`, as "dcm-0 (pid 4711)"; empty: all have ended. Does not check
// processes of other machines.
[[nodiscard]] std::vector<std::string> wait_for_farm_end(const std::string& host, std::uint16_t port,
                                                         const v1::FarmView& view, double patience_s);

}  // namespace weir::commands
