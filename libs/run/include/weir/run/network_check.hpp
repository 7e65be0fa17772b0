#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/shaping/theory.hpp>
#include <weir/v1/farm.pb.h>

#include <optional>

// Checks before a run whether a farm's window, buffers and rates fit together. Pure.
namespace weir::run {

struct ExpectedTraffic {
  run_record::SliceLoad slice;
  double slices_per_s = 0;  // 0: as many as possible
};

// Returns the bounds for the bytes in flight to the slowest port of a DCM, for all DCMs behind it together
// (Jereczek 2017, eq. 4.3: bandwidth-delay product <= window <= bandwidth-delay product + buffer), with
// network.round_trip_us. `most` is 0 if the buffer is unknown. Returns nothing if the port's rate is unknown.
[[nodiscard]] std::optional<shaping::SafeWindow> safe_window_of(const v1::Farm& farm,
                                                                const run_record::FarmNetwork& network);
// DCMs behind a line between switches, each counted by the part of its data that passes, and the bounds for
// their bytes in flight. `most` is 0 if the line's rate or buffer is unknown.
struct LinkLoad {
  double dcms = 0;
  shaping::SafeWindow safe;
};
[[nodiscard]] LinkLoad load_of(const v1::Farm& farm, const run_record::FarmNetwork& network,
                               const run_record::FarmLink& link);
// Returns a window for each DCM with room for data that windows do not count (frames' headers,
// retransmissions), in whole kB.
[[nodiscard]] std::uint64_t proposed_window_bytes(const shaping::SafeWindow& safe, std::uint32_t members);

// Returns warnings, each with a suitable value. Unknown quantities are not checked.
[[nodiscard]] config::Problems check_network(const v1::Farm& farm, const config::Locations& locations,
                                             const run_record::FarmNetwork& network,
                                             const ExpectedTraffic& traffic);

}  // namespace weir::run
