#pragma once

#include <weir/config/plan.hpp>

namespace weir::config {

// A farm file with the nodes that it describes.
struct PlannedFarm {
  v1::Farm farm;
  FarmPlan plan;
};

}  // namespace weir::config
