#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::node {

// From `stop` until a run is over, at most: control.stop_s, or, if that is more, what it takes to collect
// final reports and to reconcile them when run.drain_timeout_s has passed.
[[nodiscard]] DurationNs stop_limit(const v1::Farm& farm);

}  // namespace weir::node
