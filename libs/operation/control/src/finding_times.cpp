#include <weir/control/finding_times.hpp>

#include <utility>

namespace weir::control {

void FindingTimes::look(const std::vector<Finding>& findings, UtcNs utc) {
  std::map<std::string, UtcNs> begins;
  for (const Finding& one : findings) begins.emplace(one.word, since(one, utc));
  begins_ = std::move(begins);
}

UtcNs FindingTimes::since(const Finding& finding, UtcNs utc) const {
  const auto known = begins_.find(finding.word);
  return known != begins_.end() ? known->second : utc - finding.lasts_ns.value_or(0);
}

}  // namespace weir::control
