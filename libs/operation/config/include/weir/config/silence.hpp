#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns the time after which a readout or writer that does not answer is lost to a DCM: network.silence_ms,
// or else a time from the deadline. Together with settle_ns() it is well below dcm.deadline_ms if that is
// long enough, so that slices are returned before they are incomplete.
[[nodiscard]] DurationNs silence_ns(const v1::Farm& farm);
// Returns how long a DCM must have lost a process that others reach before it counts: until then the others
// may not have noticed yet, or it may be reconnecting.
[[nodiscard]] DurationNs settle_ns(const v1::Farm& farm);

}  // namespace weir::config
