#pragma once

#include "run_phases.hpp"
#include <weir/slice_rows/reasons.hpp>

#include <cstddef>
#include <string>

namespace weir::dcm {

// A DCM's current load, as far as it explains withheld credits.
struct Workload {
  std::size_t held_back = 0;    // slices with a decision that waits for writers
  std::size_t with_filter = 0;  // slices that are with the processing units, or wait for them
  std::size_t units = 0;        // processing units
  std::size_t credits = 0;
  std::size_t bytes_used = 0;  // bytes of the memory in use
  std::size_t bytes_total = 0;
};

// Returns the reason why credits are withheld; Reason::none: they are not.
[[nodiscard]] slice_rows::HoldReason what_holds_up(const Workload& load);
// Returns a status for display: "ready", "running", "blocked: …", "ending".
[[nodiscard]] std::string status_of(const RunPhases& course, const Workload& load, const std::string& name);

}  // namespace weir::dcm
