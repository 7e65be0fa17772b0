#pragma once

#include <weir/base/time.hpp>
#include <weir/config/locations.hpp>
#include <weir/config/planned_farm.hpp>
#include <weir/config/problem.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/shaping/theory.hpp>

#include <optional>

// Checks before a run whether a farm's window, buffers and rates fit together. Pure.
namespace weir::run {

struct ExpectedTraffic {
  run_record::SliceLoad slice;
  double slices_per_s = 0;  // 0: as many as possible
};

// Returns the bounds for the bytes in flight to the slowest port of a DCM, for all DCMs behind it together
// (Jereczek 2017, eq. 4.3: bandwidth-delay product <= window <= bandwidth-delay product + buffer). `most` is
// 0 if the buffer is unknown. Returns nothing if the port's rate is unknown.
[[nodiscard]] std::optional<shaping::SafeWindow> safe_window_of(const run_record::FarmNetwork& network,
                                                                DurationNs round_trip_ns);
// DCMs behind a line between switches, each counted by the part of its data that passes, and the bounds for
// their bytes in flight. `most` is 0 if the line's rate or buffer is unknown.
struct LinkLoad {
  double dcms = 0;
  shaping::SafeWindow safe;
};
[[nodiscard]] LinkLoad load_of(const run_record::FarmNetwork& network, const run_record::FarmLink& link,
                               DurationNs round_trip_ns);
// Returns a window for each DCM with room for data that windows do not count (frames' headers,
// retransmissions), in whole kB.
[[nodiscard]] std::uint64_t proposed_window_bytes(const shaping::SafeWindow& safe, std::uint32_t members);

// Returns warnings, each with a suitable value. Unknown quantities are not checked.
[[nodiscard]] config::Problems check_network(const config::PlannedFarm& planned,
                                             const config::Locations& locations,
                                             const run_record::FarmNetwork& network,
                                             const ExpectedTraffic& traffic);

}  // namespace weir::run
