#pragma once

#include "roster.hpp"
#include <weir/v1/control.pb.h>

namespace weir::supervisor {

// Where DCMs find readouts and writers. `remote`: for DCMs of remote groups, which connect to announced
// addresses.
[[nodiscard]] v1::Control directory(const Roster& roster, bool remote);

}  // namespace weir::supervisor
