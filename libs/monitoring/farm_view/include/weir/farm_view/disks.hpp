#pragma once

#include <weir/control/disk_space.hpp>
#include <weir/v1/bus.pb.h>

#include <vector>

namespace weir::farm_view {

// Returns the disks of run control's view; texts are printable. Pure.
[[nodiscard]] std::vector<control::DiskUse> disks_of(const v1::FarmView& view);

}  // namespace weir::farm_view
