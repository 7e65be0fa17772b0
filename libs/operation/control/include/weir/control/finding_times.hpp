#pragma once

#include <weir/base/time.hpp>
#include <weir/control/health.hpp>

#include <map>
#include <string>
#include <vector>

namespace weir::control {

// Keeps the begin of each present finding, by its word. Pure; times ascend.
class FindingTimes {
 public:
  // Takes all present findings. One that is absent once begins anew.
  void look(const std::vector<Finding>& findings, UtcNs utc);
  // Returns the begin of a finding, also of one that look() has not seen yet.
  [[nodiscard]] UtcNs since(const Finding& finding, UtcNs utc) const;

 private:
  std::map<std::string, UtcNs> begins_;
};

}  // namespace weir::control
