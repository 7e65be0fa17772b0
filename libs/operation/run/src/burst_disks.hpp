#pragma once

#include "farm.hpp"

#include <string>

namespace weir::run {

// Returns whether the farm names addresses of several hosts: this one does not see the disks of others.
[[nodiscard]] bool is_on_several_hosts(const LoadedFarm& loaded);

// Returns an error if the rings of all DCMs do not fit the free space of burst.folder. Nothing is known about
// the disks of other hosts: there each DCM reports it.
[[nodiscard]] config::Problems burst_disk_problems(const LoadedFarm& loaded);

// Returns the disk bound of the DCMs as a line; empty without burst.disk_bytes.
[[nodiscard]] std::string burst_disk_line(const LoadedFarm& loaded);

}  // namespace weir::run
