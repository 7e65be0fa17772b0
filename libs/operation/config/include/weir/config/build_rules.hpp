#pragma once

#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns whether slices are windows of time (build.by: time).
[[nodiscard]] inline bool is_by_time(const v1::Farm& farm) {
  return farm.build().by() == v1::BuildSettings::BY_TIME;
}
// Returns whether the supervisor triggers time slices, one after another; otherwise events.
[[nodiscard]] inline bool has_time_slices(const v1::Farm& farm) {
  return farm.trigger().mode() == v1::TriggerSettings::MODE_CLOCK;
}

}  // namespace weir::config
