#pragma once

#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/run/farm_command.hpp>

namespace weir::run {

struct LoadedFarm {
  v1::Farm farm;
  config::FarmPlan plan;
  config::Problems warnings;
};

// Farm file, options, validation, plan. On failure: all problems that were found.
[[nodiscard]] Expected<LoadedFarm, config::Problems> load(const FarmOptions& options);

}  // namespace weir::run
