#include "farm.hpp"

namespace weir::run {

Expected<LoadedFarm, config::Problems> load(const FarmOptions& options) {
  auto file = config::load_farm(options.farm_file);
  if (!file) return Unexpected<config::Problems>(file.error());
  config::Problems problems;
  for (const std::string& set : options.sets) {
    const config::Problems found = config::apply_override(file->farm, set, &file->locations);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (config::has_errors(problems)) return Unexpected<config::Problems>(problems);
  const config::Problems found = config::validate(file->farm, file->locations);
  problems.insert(problems.end(), found.begin(), found.end());
  if (config::has_errors(problems)) return Unexpected<config::Problems>(problems);
  auto plan = config::expand(file->farm, file->locations);
  if (!plan) return Unexpected<config::Problems>(plan.error());
  return LoadedFarm{std::move(file->farm), std::move(*plan), std::move(problems)};
}

}  // namespace weir::run
