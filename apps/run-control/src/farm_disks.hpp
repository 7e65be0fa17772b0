#pragma once

#include "parts.hpp"
#include <weir/control/disk_space.hpp>
#include <weir/v1/bus.pb.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// The disks with folders of the farm, as its live processes and run control measure them.
class FarmDisks {
 public:
  explicit FarmDisks(const control::DiskLimits& limits) : limits_(limits) {}

  // Each turn.
  void look(const Parts& parts);
  // In the order of hosts and mount points.
  [[nodiscard]] std::vector<control::DiskUse> uses() const;

 private:
  struct Disk {
    control::DiskFlow flow;
    control::DiskUse use;
  };

  control::DiskLimits limits_;
  std::string host_;                                           // of run control; empty: not asked yet
  std::map<std::pair<std::string, std::string>, Disk> disks_;  // by host and mount point
  TimeNs next_look_ns_ = 0;
};

void add_disks(const std::vector<control::DiskUse>& uses, v1::FarmView& view);

}  // namespace weir::run_control
