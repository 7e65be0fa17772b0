#pragma once

#include <weir/emulation/detector.hpp>
#include <weir/source/source.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::emulation {

// A muon that crosses the detector on a straight line at the speed of light.
struct Track {
  Vector3 point;       // m; the point closest to the origin
  Vector3 direction;   // unit vector of its flight
  double time_ns = 0;  // when it reaches `point`, from the slice's start
};

// Returns the length of a slice: the trigger's duration, or window_ns if it has none; at most kWindowMax.
[[nodiscard]] DurationNs slice_duration(const HitsSettings& settings, const source::Trigger& trigger);

// Returns the true tracks of a slice, a pure function: every source of the detector draws the same ones.
// Their number is Poisson-distributed with mean track_rate_hz times the duration; directions are isotropic,
// impact points uniform in the disc perpendicular to the direction, with the radius of the enclosing sphere
// plus impact_margin_m. A track's light is entirely within its slice, unless the slice is shorter than the
// light's time through the detector.
[[nodiscard]] std::vector<Track> tracks_of(const Detector& detector, RunNumber run,
                                           const source::Trigger& trigger);

// Tracks as a function of absolute time, for windows that overlap (build.by: time): time is divided into
// cells of window_ns, and each draws its tracks, uniform in the whole cell. A track's light may be in two
// cells.
struct CellTrack {
  source::Trigger cell;  // with its number as the slice
  std::size_t index = 0;
  Track track;  // time from the cell's begin
};
[[nodiscard]] source::Trigger cell_of(const HitsSettings& settings, UtcNs time);
// Returns the tracks that reach their closest point in [from, until).
[[nodiscard]] std::vector<CellTrack> tracks_between(const Detector& detector, RunNumber run, UtcNs from,
                                                    UtcNs until);
// Returns how far a track's light is from its closest point in time, at most.
[[nodiscard]] DurationNs light_reach(const Detector& detector);

struct Light {
  double time_ns = 0;     // of the first unscattered Cherenkov photon, from the slice's start
  double distance_m = 0;  // of closest approach
};

// With L the distance along the track from `point` to the foot of the module, d the distance of closest
// approach, theta the Cherenkov angle and v the group velocity of light:
//   t = t0 + (L - d / tan theta) / c + d / (v sin theta)
// (ANTARES, Astropart. Phys. 34 (2011) 652, "A fast algorithm for muon track reconstruction", the travel time
// of Cherenkov light; J. Brunner's and A. Heijboer's form of it).
[[nodiscard]] Light light_at(const Track& track, const Vector3& position);

// Returns the expected light. Cherenkov light of a minimum-ionising track spreads on a cone, so its density
// falls as 1/d, and is attenuated along its path d / sin theta:  n(d) = photoelectrons_at_1m / d * exp(-(d -
// 1 m) / (attenuation_m sin theta)), d >= 1 m. Modules are equally sensitive from all sides.
[[nodiscard]] double expected_photoelectrons(const HitsSettings& settings, double distance_m);

// A module's record of one track. photoelectrons 0: no light.
struct TrackHit {
  double time_ns = 0;  // smeared; may be outside the slice
  std::uint32_t photoelectrons = 0;
};

// A pure function of its arguments; `track_index` is the track's index in tracks_of().
[[nodiscard]] TrackHit track_hit(const Detector& detector, RunNumber run, SliceId slice,
                                 std::size_t track_index, const Track& track, SourceId source);

// The truth of one slice.
struct SliceTruth {
  // A line of JSON per track, each ended by a newline:
  //   {"run":..,"slice":..,"track":..,"utc_ns":..,"time_ns":..,"point_m":[x,y,z],"direction":[x,y,z],
  //    "modules":..,"floors":..,"strings":..,"photoelectrons":..}
  // `utc_ns` is the slice's start; modules, floors and strings count those that recorded light of the track.
  std::string lines;
  std::vector<std::uint32_t> modules;  // that recorded light, by track
};
[[nodiscard]] SliceTruth truth_of(const Detector& detector, RunNumber run, const source::Trigger& trigger);
// The truth of a slice in absolute time: its tracks reach their closest point in it. `slice`: its begin and
// length; times are from its begin.
[[nodiscard]] SliceTruth truth_between(const Detector& detector, RunNumber run, const source::Trigger& slice);

// Lower edges of the bins of modules with light in which tracks are counted; the last bin has no upper edge.
inline constexpr std::array<std::uint64_t, 8> kModuleBins{0, 1, 3, 5, 10, 20, 50, 100};

}  // namespace weir::emulation
