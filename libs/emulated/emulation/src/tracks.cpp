#include "random.hpp"
#include <weir/base/assert.hpp>
#include <weir/emulation/tracks.hpp>

#include <boost/random/normal_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>

#include <cstdio>

namespace weir::emulation {
namespace {

// Purposes of seeds, so that the random streams of one slice are independent.
constexpr int kStreamTracks = 1;
constexpr int kStreamTrackHit = 2;

const double kSinCherenkov = std::sqrt(1 - 1 / (kPhaseIndex * kPhaseIndex));
const double kTanCherenkov = kSinCherenkov * kPhaseIndex;

// Light of a track with its closest point at t0 reaches any module within t0 -+ this time.
double light_crossing_ns(double sphere_m, double impact_m) {
  return sphere_m / kSpeedOfLight + (sphere_m + impact_m) / (kWaterSpeedOfLight * kSinCherenkov);
}

Vector3 isotropic(SmallEngine& engine) {
  const double z = 2 * engine.uniform() - 1;
  const double phi = 2 * std::numbers::pi * engine.uniform();
  const double rho = std::sqrt(1 - z * z);
  return {rho * std::cos(phi), rho * std::sin(phi), z};
}

Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

Vector3 in_disc_across(const Vector3& direction, double radius, SmallEngine& engine) {
  const Vector3 other = std::abs(direction.z) < 0.9 ? Vector3{0, 0, 1} : Vector3{1, 0, 0};
  const Vector3 sideways = cross(direction, other);
  const Vector3 u = sideways * (1 / length(sideways));
  const Vector3 v = cross(direction, u);
  const double r = radius * std::sqrt(engine.uniform());
  const double phi = 2 * std::numbers::pi * engine.uniform();
  return u * (r * std::cos(phi)) + v * (r * std::sin(phi));
}

}  // namespace

DurationNs slice_duration(const HitsSettings& settings, const source::Trigger& trigger) {
  return std::min(trigger.duration > 0 ? trigger.duration : settings.window_ns, kWindowMax);
}

namespace {

std::vector<Track> draw_tracks(const Detector& detector, RunNumber run, const source::Trigger& trigger,
                               bool keep_inside) {
  const HitsSettings& settings = detector.settings();
  const auto duration = static_cast<double>(slice_duration(settings, trigger));
  const double mean = settings.track_rate_hz * duration * 1e-9;
  if (mean <= 0) return {};
  SmallEngine engine(seed_of(settings.seed, run.value, trigger.slice.value, kStreamTracks));
  std::vector<Track> tracks(boost::random::poisson_distribution<std::uint32_t>(mean)(engine));
  const double impact_max = detector.radius_m() + settings.impact_margin_m;
  const double crossing = light_crossing_ns(detector.radius_m(), impact_max);
  const double margin = keep_inside && 2 * crossing < duration ? crossing : 0;
  for (Track& track : tracks) {
    track.direction = isotropic(engine);
    track.point = in_disc_across(track.direction, impact_max, engine);
    track.time_ns = margin + (duration - 2 * margin) * engine.uniform();
  }
  return tracks;
}

}  // namespace

std::vector<Track> tracks_of(const Detector& detector, RunNumber run, const source::Trigger& trigger) {
  return draw_tracks(detector, run, trigger, true);
}

source::Trigger cell_of(const HitsSettings& settings, UtcNs time) {
  const DurationNs length = std::min(settings.window_ns, kWindowMax);
  const std::int64_t number = time / length - (time % length < 0 ? 1 : 0);
  return {SliceId(static_cast<std::uint64_t>(number)), number * length, length, {}};
}

std::vector<CellTrack> tracks_between(const Detector& detector, RunNumber run, UtcNs from, UtcNs until) {
  std::vector<CellTrack> found;
  for (source::Trigger cell = cell_of(detector.settings(), from); cell.time < until;
       cell = cell_of(detector.settings(), cell.time + cell.duration)) {
    const std::vector<Track> tracks = draw_tracks(detector, run, cell, false);
    for (std::size_t index = 0; index < tracks.size(); ++index) {
      const UtcNs time = cell.time + static_cast<DurationNs>(tracks[index].time_ns);
      if (time >= from && time < until) found.push_back({cell, index, tracks[index]});
    }
  }
  return found;
}

DurationNs light_reach(const Detector& detector) {
  const double impact_max = detector.radius_m() + detector.settings().impact_margin_m;
  // The smear of a hit's time: nine standard deviations.
  return static_cast<DurationNs>(light_crossing_ns(detector.radius_m(), impact_max) +
                                 9 * detector.settings().time_smear_ns) +
         1;
}

Light light_at(const Track& track, const Vector3& position) {
  const Vector3 to_module = position - track.point;
  const double along = dot(to_module, track.direction);
  const double distance = length(to_module - track.direction * along);
  return {track.time_ns + (along - distance / kTanCherenkov) / kSpeedOfLight +
              distance / (kWaterSpeedOfLight * kSinCherenkov),
          distance};
}

double expected_photoelectrons(const HitsSettings& settings, double distance_m) {
  const double distance = std::max(distance_m, 1.0);
  return settings.photoelectrons_at_1m / distance *
         std::exp(-(distance - 1) / (settings.attenuation_m * kSinCherenkov));
}

TrackHit track_hit(const Detector& detector, RunNumber run, SliceId slice, std::size_t track_index,
                   const Track& track, SourceId source) {
  const HitsSettings& settings = detector.settings();
  const Light light = light_at(track, detector.position(source));
  const double mean = expected_photoelectrons(settings, light.distance_m);
  if (mean <= 0) return {};
  SmallEngine engine(
      seed_of(settings.seed, run.value, slice.value, kStreamTrackHit, track_index, source.value));
  TrackHit hit;
  hit.photoelectrons = boost::random::poisson_distribution<std::uint32_t>(mean)(engine);
  hit.time_ns = light.time_ns + settings.time_smear_ns * boost::random::normal_distribution<double>()(engine);
  return hit;
}

namespace {

// Adds a line for a track of `slice`.
void add_truth(const Detector& detector, RunNumber run, const source::Trigger& slice, const CellTrack& of,
               SliceTruth& truth) {
  const Track& track = of.track;
  std::uint32_t modules = 0;
  unsigned floors = 0;
  unsigned strings = 0;
  std::uint64_t photoelectrons = 0;
  ModulePlace last{UINT32_MAX, UINT32_MAX, 0};
  for (std::uint32_t n = 0; n < detector.modules(); ++n) {  // by floor, then by string
    const SourceId source(detector.first_source().value + n);
    const TrackHit hit = track_hit(detector, run, of.cell.slice, of.index, track, source);
    if (hit.photoelectrons == 0) continue;
    const ModulePlace place = detector.place(source);
    ++modules;
    photoelectrons += hit.photoelectrons;
    if (place.string != last.string) ++strings;
    if (place.string != last.string || place.floor != last.floor) ++floors;
    last = place;
  }
  char line[512];
  const int size = std::snprintf(
      line, sizeof line,
      "{\"run\":%u,\"slice\":%llu,\"track\":%zu,\"utc_ns\":%lld,\"time_ns\":%.2f,\"point_m\":"
      "[%.3f,%.3f,%.3f],"
      "\"direction\":[%.6f,%.6f,%.6f],\"modules\":%u,\"floors\":%u,\"strings\":%u,"
      "\"photoelectrons\":%llu}\n",
      run.value, static_cast<unsigned long long>(slice.slice.value), truth.modules.size(),
      static_cast<long long>(slice.time), track.time_ns + static_cast<double>(of.cell.time - slice.time),
      track.point.x, track.point.y, track.point.z, track.direction.x, track.direction.y, track.direction.z,
      modules, floors, strings, static_cast<unsigned long long>(photoelectrons));
  WEIR_ASSERT(size > 0 && size < static_cast<int>(sizeof line));
  truth.lines.append(line, static_cast<std::size_t>(size));
  truth.modules.push_back(modules);
}

}  // namespace

SliceTruth truth_of(const Detector& detector, RunNumber run, const source::Trigger& trigger) {
  SliceTruth truth;
  const std::vector<Track> tracks = tracks_of(detector, run, trigger);
  for (std::size_t index = 0; index < tracks.size(); ++index)
    add_truth(detector, run, trigger, {trigger, index, tracks[index]}, truth);
  return truth;
}

SliceTruth truth_between(const Detector& detector, RunNumber run, const source::Trigger& slice) {
  SliceTruth truth;
  const UtcNs until = slice.time + slice_duration(detector.settings(), slice);
  for (const CellTrack& track : tracks_between(detector, run, slice.time, until))
    add_truth(detector, run, slice, track, truth);
  return truth;
}

}  // namespace weir::emulation
