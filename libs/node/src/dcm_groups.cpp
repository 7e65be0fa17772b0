#include <weir/node/dcm_groups.hpp>

#include <algorithm>

namespace weir::node {

std::vector<std::pair<std::string, std::uint32_t>> forward_groups(const v1::Farm& farm,
                                                                  const config::NodePlan& dcm) {
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

}  // namespace weir::node
