#pragma once

#include <weir/run_record/summary.hpp>

namespace weir::run_record {

// Adds one DCM's counters of steps, prefetches and CPU time.
void add_steps(const v1::Report& dcm, Summary& summary);
// After all DCMs and groups: means of steps, in the order of the groups.
void finish_steps(Summary& summary);
// Adds one readout's pieces and the clocks of its sources (summary_windows.cpp).
void add_windows(const v1::Report& readout, Summary& summary);
// Counters and times of front-ends, in reports of readouts and of the supervisor.
void add_front_ends(const v1::Report& report, Summary& summary);
// After all readouts: corrections relative to the median of the least delays.
void finish_clocks(Summary& summary);
[[nodiscard]] DecisionTimes decision_times_of(const metrics::ValueHistogram& histogram);

}  // namespace weir::run_record
