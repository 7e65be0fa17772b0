#pragma once

#include "farm.hpp"

#include <string>

namespace weir::run {

// Warns about folders on disks that are not mounted, by the memory of the farm's run control and by
// /etc/fstab. The disks of other hosts are unknown.
[[nodiscard]] config::Problems disk_warnings(const LoadedFarm& loaded);

// Returns a line for each folder of data: its mount point, device and free space here.
[[nodiscard]] std::string disk_lines(const LoadedFarm& loaded);

}  // namespace weir::run
