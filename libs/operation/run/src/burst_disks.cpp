#include "burst_disks.hpp"

#include <weir/base/figures.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace weir::run {
namespace {

struct Rings {
  std::uint64_t each = 0;
  std::uint64_t all = 0;
};

Rings rings_of(const LoadedFarm& loaded) {
  const std::uint64_t each = loaded.farm.burst().disk_bytes();
  std::uint64_t dcms = 0;
  for (const config::NodePlan* node : loaded.plan.of_role(Role::dcm)) dcms += node->masked ? 0 : 1;
  return {each, each * dcms};
}

std::string text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// The nearest parent that exists: the DCMs make the rest.
std::filesystem::path existing(std::filesystem::path folder) {
  std::error_code ignored;
  folder = std::filesystem::absolute(folder, ignored);
  while (folder.has_relative_path() && !std::filesystem::exists(folder, ignored))
    folder = folder.parent_path();
  return folder;
}

}  // namespace

bool is_on_several_hosts(const LoadedFarm& loaded) {
  const auto is_elsewhere = [](const std::string& at) { return !at.empty() && !config::is_loopback(at); };
  bool several =
      is_elsewhere(loaded.farm.supervisor().listen()) || is_elsewhere(loaded.farm.control().listen());
  for (const config::NodePlan& node : loaded.plan.nodes) several = several || is_elsewhere(node.listen);
  return several;
}

config::Problems burst_disk_problems(const LoadedFarm& loaded) {
  const Rings rings = rings_of(loaded);
  if (rings.all == 0 || is_on_several_hosts(loaded)) return {};
  std::error_code failed;
  const auto space = std::filesystem::space(existing(loaded.farm.burst().folder()), failed);
  if (failed || space.available >= rings.all) return {};
  return {{config::ProblemKind::inconsistent, config::Severity::error,
           loaded.locations.of("burst.disk_bytes"), "burst.disk_bytes",
           fmt::format("the DCMs need {}, but '{}' has {} free: use a smaller ring or another disk",
                       text(rings.all), loaded.farm.burst().folder(), text(space.available))}};
}

std::string burst_disk_line(const LoadedFarm& loaded) {
  const Rings rings = rings_of(loaded);
  if (rings.all == 0) return {};
  return fmt::format("  {:<12} {:>9} each, {:>9} in all, of disk in {}\n", "DCM", text(rings.each),
                     text(rings.all), loaded.farm.burst().folder());
}

}  // namespace weir::run
