#pragma once

#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/run/farm_command.hpp>

#include <string>
#include <vector>

namespace weir::run {

struct LoadedFarm {
  v1::Farm farm;
  config::FarmPlan plan;
  config::Locations locations;
  config::Problems warnings;
};

// What the command line sets, of the farm and of the lab.
struct Sets {
  std::vector<std::string> farm;
  std::vector<std::string> lab;
};
[[nodiscard]] Sets share_out(const std::vector<std::string>& sets);

// Farm file, options, validation, plan. On failure: all problems that were found.
[[nodiscard]] Expected<LoadedFarm, config::Problems> load(const FarmOptions& options);

}  // namespace weir::run
