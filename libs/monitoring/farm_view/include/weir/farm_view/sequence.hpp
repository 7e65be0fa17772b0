#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/bus.pb.h>

#include <string>

namespace weir::farm_view {

// Returns the progress of a sequence of runs, in a line: "scan.yaml: 4 of 10 runs, 1 failed, at
// dcm.credits=8; 0:12:30 left". Pure.
[[nodiscard]] std::string sequence_text(const v1::Sequence& sequence, UtcNs now);

}  // namespace weir::farm_view
