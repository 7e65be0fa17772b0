#pragma once

#include <weir/lab/plan.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::run {

// The way of frames between the hosts of a lab. Pure.
class LabPaths {
 public:
  explicit LabPaths(const lab::LabPlan& plan);
  // Returns the devices between switches that frames from one host to another pass, in order.
  [[nodiscard]] std::vector<std::string> between(std::size_t from, std::size_t to) const;

 private:
  const lab::LabPlan& plan_;
  std::map<std::string, std::size_t> leads_to_;               // the switch at the other end, by device
  std::vector<std::map<std::size_t, std::string>> forwards_;  // by switch and host
  std::map<std::pair<std::size_t, std::size_t>, std::string> steers_;  // by hosts
};

}  // namespace weir::run
