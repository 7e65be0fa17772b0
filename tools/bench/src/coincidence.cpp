#include "output.hpp"
#include <weir/bench/coincidence.hpp>

#include <fmt/format.h>

#include <deque>
#include <iterator>
#include <stdexcept>

namespace weir::bench {
namespace {

constexpr double kPairWindowNs = 20;  // the plugin's default
constexpr std::uint32_t kBrightHits = 10;
constexpr double kTrackHz = 200;               // many, for statistics
constexpr double kRareTrackHz = 20;            // for the data reduction
constexpr std::uint64_t kReductionSlices = 5;  // times as many: tracks are rare
constexpr std::uint32_t kLargeMinimum = 7;
constexpr std::uint64_t kSlicesApart = 50;  // bursts last seconds

emulation::HitsSettings sector_line() {
  emulation::HitsSettings settings;
  settings.track_rate_hz = kTrackHz;
  return settings;
}

emulation::HitsSettings ten_strings() {
  emulation::HitsSettings settings;
  settings.strings = 10;
  settings.floors_per_string = 30;
  settings.track_rate_hz = kTrackHz;
  return settings;
}

std::uint32_t modules_of(const emulation::HitsSettings& settings) {
  return settings.strings * settings.floors_per_string * settings.modules_per_floor;
}

// Points that differ in the trigger only: the same slices go through each.
struct Scan {
  emulation::HitsSettings settings;
  std::uint64_t slices = 0;
  std::vector<CoincidencePoint> points;
};

Scan scan_of(const std::string& varied, const emulation::HitsSettings& settings, std::uint64_t slices,
             const std::vector<std::uint32_t>& minima) {
  Scan scan{settings, slices, {}};
  for (const std::uint32_t minimum : minima) {
    CoincidencePoint point;
    point.varied = varied;
    point.settings = settings;
    point.minimum = minimum;
    scan.points.push_back(std::move(point));
  }
  return scan;
}

std::vector<Scan> scans_of(const CoincidenceOptions& options) {
  std::vector<Scan> scans;
  scans.push_back(scan_of("length", sector_line(), options.slices, {2, 3, 4}));
  scans.push_back(scan_of("length", ten_strings(), options.large_slices, {5, 6, kLargeMinimum}));
  for (const double background_hz : {35e3, 70e3, 140e3, 280e3}) {
    emulation::HitsSettings settings = sector_line();
    settings.background_hz = background_hz;
    scans.push_back(scan_of("background", settings, options.slices, {2, 3, 4}));
  }
  for (const double fraction : {0.0, 0.1, 0.2, 0.35, 0.5}) {
    emulation::HitsSettings settings = sector_line();
    settings.burst_fraction = fraction;
    scans.push_back(scan_of("bursts", settings, options.slices, {2, 3, 4}));
  }
  emulation::HitsSettings rare = ten_strings();
  rare.track_rate_hz = kRareTrackHz;
  scans.push_back(scan_of("reduction", rare, kReductionSlices * options.large_slices, {kLargeMinimum}));
  Scan searches =
      scan_of("search", ten_strings(), options.large_slices, {kLargeMinimum, kLargeMinimum, kLargeMinimum});
  searches.points[1].search = "scalar";
  searches.points[2].search = "reference";
  scans.push_back(std::move(searches));
  return scans;
}

void measure(Scan& scan, const CoincidenceOptions& options) {
  emulation::HitsGroup group(scan.settings, false);
  std::deque<EmulatedTrigger> triggers;
  for (const CoincidencePoint& point : scan.points) {
    triggers.emplace_back(scan.settings,
                          std::vector<std::pair<std::string, std::string>>{
                              {"minimum", std::to_string(point.minimum)}, {"search", point.search}},
                          options.search_path);
  }
  for (std::uint64_t i = 1; i <= scan.slices; ++i) {
    const EmulatedSlice slice(group, i * kSlicesApart);
    const std::vector<TrackLight> tracks = slice.tracks(kPairWindowNs);
    for (std::size_t at = 0; at < triggers.size(); ++at) {
      const filter_job::FilterResult& result = triggers[at].process(slice);
      scan.points[at].score.add(slice, tracks, result, triggers[at].cpu_ns());
    }
  }
}

std::string lengths_of(const std::map<std::uint32_t, TrackCounts>& counts) {
  std::string text;
  for (const auto& [length, count] : counts) {
    fmt::format_to(std::back_inserter(text), "{}[{}, {}, {}]", text.empty() ? "" : ", ", length, count.tracks,
                   count.found);
  }
  return "[" + text + "]";
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string table_of(const std::vector<CoincidencePoint>& points, const CoincidenceOptions& options) {
  std::string text = fmt::format(
      "# {}\n\n```sh\n{}\n```\nThe filter `coincidence` on emulated slices of 10 ms, {}. Long tracks have at "
      "least `minimum` "
      "level-1 floors\nof their own light; bright ones at least {} hits. An event is true if most of its "
      "hits "
      "belong to one track.\n\n"
      "| varied | modules | background, kHz | in bursts, % | tracks, Hz | minimum | search | long tracks "
      "found | "
      "bright tracks found | true events | slices accepted | stored, 1 of | CPU of a slice, ms |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      options.name, options.command, machine(), kBrightHits);
  for (const CoincidencePoint& point : points) {
    const TriggerScore& score = point.score;
    const TrackCounts longs = score.long_tracks(point.minimum);
    const TrackCounts bright = score.bright_tracks(kBrightHits);
    fmt::format_to(
        std::back_inserter(text),
        "| {} | {} | {:g} | {:g} | {:g} | {} | {} | {} of {} | {} of {} | {} of {} | {} of {} | {} | {:.2f} "
        "|\n",
        point.varied, modules_of(point.settings), point.settings.background_hz / 1e3,
        100 * point.settings.burst_fraction, point.settings.track_rate_hz, point.minimum, point.search,
        longs.found, longs.tracks, bright.found, bright.tracks, score.true_events, score.events,
        score.accepted, score.slices,
        score.bytes_out == 0 ? "no bytes" : fmt::format("{:.0f}", share_of(score.bytes_in, score.bytes_out)),
        score.median_cpu_ms());
  }
  return text;
}

}  // namespace

std::string to_json_line(const CoincidencePoint& point) {
  const TriggerScore& score = point.score;
  const TrackCounts longs = score.long_tracks(point.minimum);
  const TrackCounts bright = score.bright_tracks(kBrightHits);
  return fmt::format(
      R"({{"bench": "coincidence", "varied": "{}", "modules": {}, "background_hz": {:.0f}, )"
      R"("burst_fraction": {:g}, "track_rate_hz": {:g}, "minimum": {}, "search": "{}", "slices": {}, )"
      R"("accepted": {}, "events": {}, "true_events": {}, "purity": {:.4f}, "long_tracks": {}, )"
      R"("long_tracks_found": {}, "efficiency": {:.4f}, "bright_tracks": {}, "bright_tracks_found": {}, )"
      R"("bytes_in": {}, "bytes_out": {}, "cpu_ms": {:.3f}, "by_floors": {}, "by_hits": {}}})",
      point.varied, modules_of(point.settings), point.settings.background_hz, point.settings.burst_fraction,
      point.settings.track_rate_hz, point.minimum, point.search, score.slices, score.accepted, score.events,
      score.true_events, share_of(score.true_events, score.events), longs.tracks, longs.found, longs.share(),
      bright.tracks, bright.found, score.bytes_in, score.bytes_out, score.median_cpu_ms(),
      lengths_of(score.by_floors), lengths_of(score.by_hits));
}

int run_coincidence(const CoincidenceOptions& options, std::FILE* out, std::FILE* err) {
  if (!options.out.empty() && !make_folder(options.out, err)) return 1;
  std::vector<CoincidencePoint> points;
  std::string lines;
  try {
    for (Scan& scan : scans_of(options)) {
      measure(scan, options);
      for (CoincidencePoint& point : scan.points) {
        const std::string line = to_json_line(point);
        fmt::print(out, "{}\n", line);
        std::fflush(out);
        lines += line + "\n";
        points.push_back(std::move(point));
      }
    }
  } catch (const std::exception& error) {
    fmt::print(err, "weir bench coincidence: {}\n", error.what());
    return 1;
  }
  if (options.out.empty()) return 0;
  return write_output(options.out, options.name, lines, table_of(points, options), err);
}

}  // namespace weir::bench
