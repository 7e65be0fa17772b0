#pragma once

#include "parts.hpp"
#include <weir/control/disk_memory.hpp>
#include <weir/v1/bus.pb.h>

#include <vector>

// The disks on which the folders of run control and of the farm's processes lie.
namespace weir::run_control {

// Name of run control's own folder among those of processes.
inline constexpr const char* kRunControl = "run control";

// Returns the folders on disks that are not mounted: of run control, and of live processes that were not
// removed.
[[nodiscard]] std::vector<control::MissingDisk> missing_disks(const Parts& parts);
// A run starts with the folders where they lie now.
void note_disks(Parts& parts, RunNumber run);
// A disk that is missing in an open run is a fault of the run: it was unmounted after the start.
void note_unmounted(Parts& parts, const std::vector<control::MissingDisk>& missing);
void add_disks(const control::DiskMemory& disks, v1::ControlMemory& memory);
[[nodiscard]] std::vector<control::DiskMemory::Disk> disks_of(const v1::ControlMemory& memory);

}  // namespace weir::run_control
