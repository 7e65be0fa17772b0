#pragma once

#include <weir/config/plan.hpp>
#include <weir/lab/plan.hpp>
#include <weir/run_record/farm_network.hpp>

namespace weir::run {

// Builds the network of a farm in a lab, as run_record::network_of() does from the farm file. Pure.
// Ports that change have their mean rate between two times of the run; for an empty interval, the rate at its
// beginning.
[[nodiscard]] run_record::FarmNetwork network_of(const lab::LabPlan& lab, const config::FarmPlan& plan,
                                                 double from_s = 0, double to_s = 0);

}  // namespace weir::run
