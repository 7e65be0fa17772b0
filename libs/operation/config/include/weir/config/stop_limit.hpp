#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::config {

// Returns the longest time from `stop` until a run is over: control.stop_s or, if that is more,
// run.drain_timeout_s plus the time to collect and reconcile final reports.
[[nodiscard]] DurationNs stop_limit(const v1::Farm& farm);

// The phases of a stop that has `limit` left, each measured from now: slices in flight may be settled until
// `drain_ns`, final reports are awaited until `reports_ns`, and the rest is for the account to reach run
// control.
struct StopParts {
  DurationNs drain_ns = 0;
  DurationNs reports_ns = 0;
};
[[nodiscard]] StopParts stop_parts(DurationNs limit);

// Returns how long a supervisor may wait for its nodes if the run has to begin within `limit`. It is shorter,
// so that run control receives the supervisor's reason before it gives up.
[[nodiscard]] DurationNs gather_patience(DurationNs limit);

// Returns the longest time in which a writer tries to close its files at the end of a run: its final report
// follows in the time for reports.
[[nodiscard]] DurationNs close_patience(const v1::Farm& farm);

}  // namespace weir::config
