#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace weir::emulation {

// A string detector in water, and its hits. The members have the names of the farm file's keys.
struct HitsSettings {
  SourceId first_source{1};
  std::uint32_t strings = 1;
  std::uint32_t floors_per_string = 5;
  std::uint32_t modules_per_floor = 3;
  double floor_spacing_m = 14.5;
  double string_spacing_m = 60;
  double module_radius_m = 1;    // of a module from its string's axis
  double background_hz = 70e3;   // single hits per module: potassium-40 and steady bioluminescence
  double waveform_fraction = 0;  // of all hits; at 0.015 waveforms carry as many bytes as the other hits
  double burst_fraction = 0;     // of the time that a floor spends in bioluminescence bursts, 0 to 0.5
  double burst_s_max = 3;        // bursts last 0 to this, uniformly
  double burst_factor = 6;       // on background_hz during a burst
  double track_rate_hz = 0;      // muons through the detector's enclosing sphere, widened by impact_margin_m
  double impact_margin_m = 0;
  double photoelectrons_at_1m =
      60;  // mean light of a track that passes a module at 1 m, see expected_photoelectrons
  double attenuation_m = 55;                 // of light in water
  double time_smear_ns = 1.5;                // standard deviation: transit time spread and electronics
  DurationNs window_ns = 10 * kMillisecond;  // of a trigger without a duration
  std::uint64_t seed = 1;
};

constexpr double kSpeedOfLight = 0.299792458;  // in vacuum, m/ns (SI)
// Group refractive index of deep sea water at a photomultiplier's wavelengths: the average used by the KM3NeT
// reconstruction (Jpp, JConstants.hh).
constexpr double kGroupIndex = 1.3800851282;
constexpr double kWaterSpeedOfLight = kSpeedOfLight / kGroupIndex;  // m/ns
// Phase index at the same wavelengths, for the Cherenkov angle cos(theta) = 1 / n (aanet, KM3NeT): 42.2
// degrees.
constexpr double kPhaseIndex = 1.3499;

struct Vector3 {
  double x = 0;
  double y = 0;
  double z = 0;

  constexpr Vector3 operator+(const Vector3& o) const { return {x + o.x, y + o.y, z + o.z}; }
  constexpr Vector3 operator-(const Vector3& o) const { return {x - o.x, y - o.y, z - o.z}; }
  constexpr Vector3 operator*(double f) const { return {x * f, y * f, z * f}; }
};

[[nodiscard]] constexpr double dot(const Vector3& a, const Vector3& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
[[nodiscard]] inline double length(const Vector3& v) { return std::sqrt(dot(v, v)); }

// A module's place in the detector; all numbers count from 0, floors from the sea bed up.
struct ModulePlace {
  std::uint32_t string = 0;
  std::uint32_t floor = 0;
  std::uint32_t module = 0;  // on its floor; the channel of its hits
  constexpr bool operator==(const ModulePlace&) const = default;
};

// Geometry. One source per optical module, numbered from first_source along the modules of a floor, then the
// floors of a string, then the strings. Strings stand on a triangular grid, the innermost sites first; the
// origin is the middle of the instrumented volume, z points up.
class Detector {
 public:
  // Requires: check() accepts the settings.
  explicit Detector(const HitsSettings& settings)
      : settings_(settings),
        first_(settings.first_source.value),
        floors_(settings.floors_per_string),
        modules_(settings.modules_per_floor),
        axes_(sites(settings)) {
    const double middle = (static_cast<double>(floors_) - 1) / 2;
    positions_.reserve(axes_.size() * floors_ * modules_);
    for (const Vector3& axis : axes_) {
      for (std::uint32_t floor = 0; floor < floors_; ++floor) {
        for (std::uint32_t module = 0; module < modules_; ++module) {
          const double angle = 2 * std::numbers::pi * module / modules_;
          const Vector3 position{axis.x + settings.module_radius_m * std::cos(angle),
                                 axis.y + settings.module_radius_m * std::sin(angle),
                                 (floor - middle) * settings.floor_spacing_m};
          radius_m_ = std::max(radius_m_, length(position));
          positions_.push_back(position);
        }
      }
    }
  }

  // Returns why these settings are not valid, with the key, or an empty string.
  [[nodiscard]] static std::string check(const HitsSettings& settings);

  [[nodiscard]] const HitsSettings& settings() const { return settings_; }
  [[nodiscard]] std::uint32_t modules() const { return static_cast<std::uint32_t>(positions_.size()); }
  [[nodiscard]] bool contains(SourceId source) const { return source.value - first_ < positions_.size(); }
  // Requires: the source is contained (here and below).
  [[nodiscard]] const Vector3& position(SourceId source) const { return positions_[source.value - first_]; }
  [[nodiscard]] ModulePlace place(SourceId source) const {
    const std::uint32_t floor = floor_index(source);
    return {floor / floors_, floor % floors_, (source.value - first_) % modules_};
  }
  [[nodiscard]] SourceId source(const ModulePlace& place) const {
    return SourceId(first_ + (place.string * floors_ + place.floor) * modules_ + place.module);
  }
  [[nodiscard]] SourceId first_source() const { return SourceId(first_); }
  // Returns the number of a module's floor, counted from 0 over the whole detector.
  [[nodiscard]] std::uint32_t floor_index(SourceId source) const {
    return (source.value - first_) / modules_;
  }
  // Returns the radius of the sphere around the origin that encloses all modules.
  [[nodiscard]] double radius_m() const { return radius_m_; }

 private:
  static std::vector<Vector3> sites(const HitsSettings& settings) {
    struct Site {
      int i, j, distance2;  // in units of the spacing: distance^2 = i^2 + ij + j^2
    };
    std::vector<Site> grid;
    const int reach = 2 + static_cast<int>(std::sqrt(settings.strings));
    for (int i = -reach; i <= reach; ++i) {
      for (int j = -reach; j <= reach; ++j) grid.push_back({i, j, i * i + i * j + j * j});
    }
    std::stable_sort(grid.begin(), grid.end(),
                     [](const Site& a, const Site& b) { return a.distance2 < b.distance2; });
    std::vector<Vector3> axes;
    Vector3 sum;
    for (std::uint32_t n = 0; n < settings.strings; ++n) {
      const double row = grid[n].j;
      axes.push_back(Vector3{grid[n].i + row / 2, row * std::numbers::sqrt3 / 2, 0} *
                     settings.string_spacing_m);
      sum = sum + axes.back();
    }
    for (Vector3& axis : axes) axis = axis - sum * (1.0 / settings.strings);
    return axes;
  }

  HitsSettings settings_;
  std::uint32_t first_;
  std::uint32_t floors_;
  std::uint32_t modules_;
  std::vector<Vector3> axes_;
  std::vector<Vector3> positions_;
  double radius_m_ = 0;
};

constexpr std::uint32_t kStringsMax = 10'000;
constexpr std::uint32_t kModulesMax = 1'000'000;         // of a whole detector
constexpr std::uint32_t kModulesPerFloorMax = 64;        // a hit has 7 bits for the channel
constexpr DurationNs kWindowMax = DurationNs{1} << 32U;  // a hit has 32 bits for its time

inline std::string Detector::check(const HitsSettings& s) {
  const auto in = [](double value, double low, double high) { return value >= low && value <= high; };
  if (!in(s.strings, 1, kStringsMax)) return "strings must be 1 to " + std::to_string(kStringsMax);
  if (!in(s.modules_per_floor, 1, kModulesPerFloorMax)) {
    return "modules_per_floor must be 1 to " + std::to_string(kModulesPerFloorMax);
  }
  if (!in(s.floors_per_string, 1, kModulesMax) ||
      double{1} * s.strings * s.floors_per_string * s.modules_per_floor > kModulesMax) {
    return "floors_per_string must be at least 1, and all modules together at most " +
           std::to_string(kModulesMax);
  }
  if (!in(s.floor_spacing_m, 0, 1e4)) return "floor_spacing_m must be 0 to 10000";
  if (!in(s.string_spacing_m, 0, 1e5)) return "string_spacing_m must be 0 to 100000";
  if (!in(s.module_radius_m, 0, 100)) return "module_radius_m must be 0 to 100";
  if (!in(s.background_hz, 0, 1e8)) return "background_hz must be 0 to 1e8";
  if (!in(s.waveform_fraction, 0, 1)) return "waveform_fraction must be 0 to 1";
  if (!in(s.burst_fraction, 0, 0.5)) return "burst_fraction must be 0 to 0.5";
  if (!in(s.burst_s_max, 1e-3, 1e6)) return "burst_s_max must be 0.001 to 1e6";
  if (!in(s.burst_factor, 0, 1e3)) return "burst_factor must be 0 to 1000";
  if (!in(s.track_rate_hz, 0, 1e4)) return "track_rate_hz must be 0 to 10000";
  if (!in(s.impact_margin_m, 0, 1e5)) return "impact_margin_m must be 0 to 100000";
  if (!in(s.photoelectrons_at_1m, 0, 1e6)) return "photoelectrons_at_1m must be 0 to 1e6";
  if (!in(s.attenuation_m, 0.1, 1e5)) return "attenuation_m must be 0.1 to 100000";
  if (!in(s.time_smear_ns, 0, 1e6)) return "time_smear_ns must be 0 to 1e6";
  const std::uint64_t modules = std::uint64_t{s.strings} * s.floors_per_string * s.modules_per_floor;
  if (s.first_source.value + modules - 1 > UINT32_MAX) return "first_source leaves no room for all modules";
  if (s.window_ns <= 0 || s.window_ns > kWindowMax)
    return "window_ns must be 1 to " + std::to_string(kWindowMax);
  return {};
}

}  // namespace weir::emulation
