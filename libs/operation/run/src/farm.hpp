#pragma once

#include <weir/config/farm_file.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/run/farm_command.hpp>

#include <string>
#include <vector>

namespace weir::run {

struct LoadedFarm : config::PlannedFarm {
  config::Locations locations;
  config::Problems warnings;
};

// The command line's overrides, for the farm and for the lab.
struct Sets {
  std::vector<std::string> farm;
  std::vector<std::string> lab;
};
[[nodiscard]] Sets share_out(const std::vector<std::string>& sets);

// Loads and validates the farm file with the options, and plans the farm. On failure: all problems found.
[[nodiscard]] Expected<LoadedFarm, config::Problems> load(const FarmOptions& options);

}  // namespace weir::run
