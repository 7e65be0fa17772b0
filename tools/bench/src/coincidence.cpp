#include "output.hpp"
#include "units.hpp"
#include <weir/bench/coincidence.hpp>
#include <weir/bench/emulated_trigger.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <deque>

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

// One setting of detector and trigger.
struct CoincidencePoint {
  std::string varied;  // length, background, bursts, reduction, search
  emulation::HitsSettings settings;
  std::uint32_t minimum = 0;  // floors of a cluster
  std::string search = "vector";
  TriggerScore score;
};

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

boost::json::array lengths_of(const std::map<std::uint32_t, TrackCounts>& counts) {
  boost::json::array lengths;
  for (const auto& [length, count] : counts)
    lengths.push_back(boost::json::array{length, count.tracks, count.found});
  return lengths;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

Line line_of(const CoincidencePoint& point) {
  const TriggerScore& score = point.score;
  const TrackCounts longs = score.long_tracks(point.minimum);
  const TrackCounts bright = score.bright_tracks(kBrightHits);
  return {{"bench", "coincidence"},
          {"varied", point.varied},
          {"modules", modules_of(point.settings)},
          {"background_hz", point.settings.background_hz},
          {"burst_fraction", point.settings.burst_fraction},
          {"track_rate_hz", point.settings.track_rate_hz},
          {"minimum", point.minimum},
          {"search", point.search},
          {"slices", score.slices},
          {"accepted", score.accepted},
          {"events", score.events},
          {"true_events", score.true_events},
          {"purity", four_digits(share_of(score.true_events, score.events))},
          {"long_tracks", longs.tracks},
          {"long_tracks_found", longs.found},
          {"efficiency", four_digits(longs.share())},
          {"bright_tracks", bright.tracks},
          {"bright_tracks_found", bright.found},
          {"bytes_in", score.bytes_in},
          {"bytes_out", score.bytes_out},
          {"cpu_ms", four_digits(score.median_cpu_ms())},
          {"by_floors", lengths_of(score.by_floors)},
          {"by_hits", lengths_of(score.by_hits)}};
}

// "97 of 100"
Column share_column(const char* head, const char* part, const char* whole) {
  return {head, [part, whole](const Line& line) {
            return fmt::format("{} of {}", number_of(line, part), number_of(line, whole));
          }};
}

std::string coincidence_page(const Lines& lines, const CoincidenceOptions& options) {
  const auto reduction = [](const Line& line) {
    const double bytes = number_of(line, "bytes_out");
    return bytes == 0 ? "no bytes" : fmt::format("{:.0f}", number_of(line, "bytes_in") / bytes);
  };
  return page_head(
             options.output.name, options.output,
             fmt::format("The filter `coincidence` on emulated slices of 10 ms, {}. Long tracks have at "
                         "least `minimum` level-1 floors\nof their own light; bright ones at least {} "
                         "hits. An event is true if most of its hits belong to one track.",
                         machine(), kBrightHits)) +
         table_of(lines, {text_column("varied", "varied"),
                          number_column("modules", "modules", 0),
                          number_column("background, kHz", "background_hz", 0, 1e-3),
                          number_column("in bursts, %", "burst_fraction", 0, kPercent),
                          number_column("tracks, Hz", "track_rate_hz", 0),
                          number_column("minimum", "minimum", 0),
                          text_column("search", "search"),
                          share_column("long tracks found", "long_tracks_found", "long_tracks"),
                          share_column("bright tracks found", "bright_tracks_found", "bright_tracks"),
                          share_column("true events", "true_events", "events"),
                          share_column("slices accepted", "accepted", "slices"),
                          {"stored, 1 of", reduction},
                          number_column("CPU of a slice, ms", "cpu_ms", 2)});
}

}  // namespace

int run_coincidence(const CoincidenceOptions& options, std::FILE* out, std::FILE* err) {
  Figure figure;
  figure.bench = "coincidence";
  figure.needs_all = true;
  for (const Scan& scan : scans_of(options)) {
    const auto measure_scan = [&options, its = Scan(scan)]() mutable -> Expected<Lines, std::string> {
      measure(its, options);
      Lines lines;
      for (const CoincidencePoint& point : its.points) lines.push_back(line_of(point));
      return lines;
    };
    figure.groups.push_back({{scan.points.front().varied, measure_scan}});
  }
  figure.page = [&](const Lines& lines) { return coincidence_page(lines, options); };
  return run_figure(figure, options.output, out, err);
}

}  // namespace weir::bench
