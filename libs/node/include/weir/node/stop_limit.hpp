#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/farm.pb.h>

namespace weir::node {

// Time from `stop` until a run is over, at most: control.stop_s, or, if that is more, run.drain_timeout_s and
// the time to collect final reports and to reconcile them.
[[nodiscard]] DurationNs stop_limit(const v1::Farm& farm);

// The parts of a stop that has `limit` left, each from now: slices in flight may be settled until
// `drain_ns`, final reports are awaited until `reports_ns`, and the rest is for the account to reach run
// control.
struct StopParts {
  DurationNs drain_ns = 0;
  DurationNs reports_ns = 0;
};
[[nodiscard]] StopParts stop_parts(DurationNs limit);

// Time that a supervisor may wait for its nodes when the run has to begin within `limit`: less than that, so
// that run control receives the supervisor's reason and does not give up first.
[[nodiscard]] DurationNs gather_patience(DurationNs limit);

// Longest time in which a writer tries to close its files at the end of a run: its final report follows in
// the time for reports.
[[nodiscard]] DurationNs close_patience(const v1::Farm& farm);

}  // namespace weir::node
