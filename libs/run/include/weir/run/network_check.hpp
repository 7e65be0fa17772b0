#pragma once

#include <weir/config/locations.hpp>
#include <weir/config/problem.hpp>
#include <weir/run_record/farm_network.hpp>
#include <weir/shaping/theory.hpp>
#include <weir/v1/farm.pb.h>

#include <optional>

// Whether window, buffers and rates of a farm hold together, before it runs. Pure.
namespace weir::run {

struct ExpectedTraffic {
  run_record::SliceLoad slice;
  double slices_per_s = 0;  // 0: as many as go
};

// What may be under way to the slowest port of a DCM, all DCMs behind it together (Jereczek 2017, eq. 4.3:
// bandwidth-delay product <= window <= bandwidth-delay product + buffer), for network.round_trip_us. `most`
// is 0 where the buffer is not known. Nothing when the port's rate is not known.
[[nodiscard]] std::optional<shaping::SafeWindow> safe_window_of(const v1::Farm& farm,
                                                                const run_record::FarmNetwork& network);
// A window for each DCM that leaves room for what windows do not count (frames' headers, what is sent again);
// in whole kB.
[[nodiscard]] std::uint64_t proposed_window_bytes(const shaping::SafeWindow& safe, std::uint32_t members);

// Warnings, each with a value that would hold. What is not known is not judged.
[[nodiscard]] config::Problems check_network(const v1::Farm& farm, const config::Locations& locations,
                                             const run_record::FarmNetwork& network,
                                             const ExpectedTraffic& traffic);

}  // namespace weir::run
