#pragma once

#include <weir/page/state.hpp>

#include <string>

namespace weir::page {

// Returns run control's own metrics in Prometheus' format: state, run, findings, disks, processes.
[[nodiscard]] std::string farm_metrics(const Farm& farm);

}  // namespace weir::page
