#pragma once

#include <weir/base/time.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::reports {

// A DCM's move from one plane to another.
struct PlaneMove {
  UtcNs utc_ns = 0;
  std::string from;
  std::string to;
  std::uint64_t lacking = 0;  // readouts without a heartbeat in `from`; 0: the DCM returned
  DurationNs gap_ns = 0;      // the longest time without data of a readout, around the move; 0: not over yet
  bool operator==(const PlaneMove&) const = default;
};
inline constexpr std::size_t kPlaneMovesMax = 32;  // the latest ones, in a report

void note_plane_moves(v1::Report& report, const std::vector<PlaneMove>& moves);
// Returns the moves in a DCM's report; entries of another form are left out.
[[nodiscard]] std::vector<PlaneMove> plane_moves(const v1::Report& dcm);

// "b instead of a"; empty: the DCM receives through its own plane.
void note_other_plane(v1::Report& report, const std::string& text);
[[nodiscard]] std::string other_plane(const v1::Report& dcm);

}  // namespace weir::reports
