#include <weir/config/forward_groups.hpp>

#include <algorithm>

namespace weir::config {

std::vector<std::pair<std::string, std::uint32_t>> forward_groups(const v1::Farm& farm, const NodePlan& dcm) {
  const auto& groups = farm.dcm().groups();
  std::vector<std::pair<std::string, std::uint32_t>> to;
  if (dcm.group >= groups.size()) return to;
  const auto& names = groups[dcm.group].forward();
  for (int i = 0; i < groups.size(); ++i) {
    if (std::find(names.begin(), names.end(), groups[i].name()) != names.end())
      to.emplace_back(groups[i].name(), static_cast<std::uint32_t>(i));
  }
  return to;
}

bool is_fetched_by(const v1::Farm& farm, const NodePlan& keeper, const NodePlan& dcm) {
  const std::vector<bool> fetching = fetching_groups(farm);
  const auto to = forward_groups(farm, keeper);
  return dcm.group < fetching.size() && fetching[dcm.group] &&
         std::any_of(to.begin(), to.end(), [&](const auto& group) { return group.second == dcm.group; });
}

std::vector<bool> fetching_groups(const v1::Farm& farm) {
  std::vector<bool> fetching;
  for (const v1::DcmGroupSettings& group : farm.dcm().groups())
    fetching.push_back(group.fetch() == v1::DcmGroupSettings::FETCH_BUILDER);
  return fetching;
}

}  // namespace weir::config
