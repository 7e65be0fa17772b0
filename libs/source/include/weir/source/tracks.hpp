#pragma once

#include <weir/source/detector.hpp>
#include <weir/source/source.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace weir::source {

// A muon that crosses the detector on a straight line at the speed of light.
struct Track {
  Vector3 point;       // m; where it is closest to the origin
  Vector3 direction;   // unit vector, the way it flies
  double time_ns = 0;  // when it is at `point`, from the slice's start
};

// How long a slice lasts: the trigger's duration or, of one without, window_ns; at most kWindowMax.
[[nodiscard]] DurationNs slice_duration(const HitsSettings& settings, const Trigger& trigger);

// The true tracks of a slice, a pure function: every source of the detector draws the same ones. Their number
// is Poisson-distributed with mean track_rate_hz times the duration; directions are isotropic, impact points
// uniform in the disc across the direction, of the radius of the enclosing sphere plus impact_margin_m. A
// track's light lies wholly within its slice, unless the slice is shorter than the light takes to cross the
// detector.
[[nodiscard]] std::vector<Track> tracks_of(const Detector& detector, RunNumber run, const Trigger& trigger);

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

// Cherenkov light of a minimum-ionising track spreads on a cone, so its density falls as 1/d, and is
// attenuated along its path d / sin theta:  n(d) = photoelectrons_at_1m / d * exp(-(d - 1 m) / (attenuation_m
// sin theta)), d >= 1 m. Modules see light alike from all sides.
[[nodiscard]] double expected_photoelectrons(const HitsSettings& settings, double distance_m);

// What one module records of one track. photoelectrons 0: it saw nothing.
struct TrackHit {
  double time_ns = 0;  // smeared, may lie outside the slice
  std::uint32_t photoelectrons = 0;
};

// A pure function of its arguments; `track_index` is the track's place in tracks_of().
[[nodiscard]] TrackHit track_hit(const Detector& detector, RunNumber run, SliceId slice,
                                 std::size_t track_index, const Track& track, SourceId source);

// The truth of one slice, one line of JSON per track, each ended by a newline:
//   {"run":..,"slice":..,"track":..,"utc_ns":..,"time_ns":..,"point_m":[x,y,z],"direction":[x,y,z],
//    "modules":..,"floors":..,"strings":..,"photoelectrons":..}
// `utc_ns` is the slice's start; modules, floors and strings count those that recorded light of the track.
[[nodiscard]] std::string truth_lines(const Detector& detector, RunNumber run, const Trigger& trigger);

}  // namespace weir::source
