#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/config/problem.hpp>

#include <optional>
#include <string>
#include <vector>

// Tries a farm's plugins with their parameters, without a run.
namespace weir::plugin_trial {

struct TriedFarm {
  const config::PlannedFarm& planned;
  const config::Locations& locations;
  std::vector<std::string> folders;  // searched for plugins after the farm's own search paths
};

// Makes an instance of the filter. Returns the problem with the key at fault, if that fails. `description`
// receives the plugin's name, version and path.
[[nodiscard]] std::optional<config::Problem> try_filter(const TriedFarm& tried, std::string& description);

// Loads the readouts' source plugins, each once, without an instance.
[[nodiscard]] config::Problems load_sources(const TriedFarm& tried, std::string& description);

// Makes an instance of one readout's source plugin, which may open sockets and is destroyed at once. Does
// nothing for a readout with built-in sources.
[[nodiscard]] std::optional<config::Problem> try_source(const TriedFarm& tried,
                                                        const config::NodePlan& readout);

}  // namespace weir::plugin_trial
