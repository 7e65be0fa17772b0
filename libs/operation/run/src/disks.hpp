#pragma once

#include "farm.hpp"

#include <string>

namespace weir::run {

// Warns about folders on disks that are not mounted, by the memory of the farm's run control and by
// /etc/fstab, and about disks with less free space than control.disk_free_min. The disks
// of other hosts are unknown.
[[nodiscard]] config::Problems disk_warnings(const LoadedFarm& loaded);

// Returns a line for each folder of data: its mount point, device and free space here, and the time until the
// disk of run.out is full at `bytes_per_s`; 0: unknown.
[[nodiscard]] std::string disk_lines(const LoadedFarm& loaded, double bytes_per_s);

}  // namespace weir::run
