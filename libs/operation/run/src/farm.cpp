#include "farm.hpp"

#include <weir/config/lab_file.hpp>
#include <weir/config/suggest.hpp>
#include <weir/config/switch_file.hpp>
#include <weir/node/recordings.hpp>
#include <weir/node/setup.hpp>

#include <algorithm>

namespace weir::run {

Sets share_out(const std::vector<std::string>& sets) {
  Sets shared;
  for (const std::string& set : sets)
    (set.starts_with(config::kLabPrefix) ? shared.lab : shared.farm).push_back(set);
  return shared;
}

namespace {

// Returns a problem for each process of control.essential and control.transient that the farm does not have.
config::Problems unknown_members(const config::FarmFile& file, const config::FarmPlan& plan) {
  std::vector<std::string> names;
  for (const config::NodePlan& node : plan.nodes) {
    if (!node.masked) names.push_back(node.name);
  }
  config::Problems problems;
  const auto look_up = [&](const auto& members, const std::string& key) {
    for (const std::string& member : members) {
      if (std::find(names.begin(), names.end(), member) != names.end()) continue;
      problems.push_back({config::ProblemKind::bad_value, config::Severity::error, file.locations.of(key),
                          key,
                          "the farm has no process '" + member + "'" +
                              config::did_you_mean(config::nearest(member, names))});
    }
  };
  look_up(file.farm.control().essential(), "control.essential");
  look_up(file.farm.control().transient(), "control.transient");
  return problems;
}

}  // namespace

Expected<LoadedFarm, config::Problems> load(const FarmOptions& options) {
  auto file = config::load_farm(options.farm_file);
  if (!file) return Unexpected<config::Problems>(file.error());
  config::Problems problems;
  for (const std::string& set : options.sets) {
    const config::Problems found = config::apply_override(file->farm, set, &file->locations);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (config::has_errors(problems)) return Unexpected<config::Problems>(problems);
  const config::Problems found = config::validate(file->farm, file->locations, node::read_recording);
  problems.insert(problems.end(), found.begin(), found.end());
  if (config::has_errors(problems)) return Unexpected<config::Problems>(problems);
  auto plan = config::expand(file->farm, file->locations, node::read_recording);
  if (!plan) return Unexpected<config::Problems>(plan.error());
  if (const config::Problems unknown = unknown_members(*file, *plan); !unknown.empty())
    return Unexpected<config::Problems>(unknown);
  if (const auto switches = config::load_switches(file->farm); !switches)
    return Unexpected<config::Problems>(switches.error());
  const auto unreadable = [&](const char* key, auto read) -> std::optional<config::Problem> {
    try {
      (void)read(file->farm);
    } catch (const std::exception& error) {
      return config::Problem{config::ProblemKind::unreadable,
                             config::Severity::error,
                             file->locations.of(key),
                             {},
                             error.what()};
    }
    return std::nullopt;
  };
  if (const auto problem = unreadable("security.key_file", node::make_authenticator))
    return Unexpected<config::Problems>({*problem});
  if (const auto problem = unreadable("trigger.key_file", node::trigger_keys))
    return Unexpected<config::Problems>({*problem});
  return LoadedFarm{
      {std::move(file->farm), std::move(*plan)}, std::move(file->locations), std::move(problems)};
}

}  // namespace weir::run
