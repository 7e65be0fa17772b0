#include "../cluster_finder.hpp"
#include "weir_catch.hpp"
#include <weir/filter_host/instance.hpp>
#include <weir/source/hits_source.hpp>
#include <weir/source/tracks.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

using namespace weir;
using namespace weir::filter_host;
using source::HitsSettings;

namespace {

constexpr RunNumber kRun{7};
constexpr DurationNs kSlice = 10 * kMillisecond;
constexpr double kPairWindowNs = 20;
constexpr std::size_t kEventHeaderBytes = 16;
constexpr std::size_t kEventHitBytes = 12;

source::Trigger trigger(std::uint64_t slice) {
  return {
      .slice = SliceId(slice), .time = static_cast<UtcNs>(slice) * kSlice, .duration = kSlice, .type = {}};
}

// Emulated slices through the built plugin.
class Bench {
 public:
  Bench(const HitsSettings& settings, std::vector<std::pair<std::string, std::string>> parameters)
      : group_(settings, false) {
    auto plugin = FilterPlugin::load("coincidence", {WEIR_PLUGIN_DIR});
    REQUIRE(plugin);
    FilterConfig config;
    config.parameters = std::move(parameters);
    config.parameters.emplace_back("strings", std::to_string(settings.strings));
    config.parameters.emplace_back("floors_per_string", std::to_string(settings.floors_per_string));
    auto instance = FilterInstance::create(*plugin, config, metrics_);
    if (!instance) FAIL(instance.error().text);
    instance_ = std::move(*instance);
    REQUIRE(instance_->begin_run({.run = kRun, .start_time = 0, .sources = {}}));
  }

  const FilterResult& process(std::uint64_t id) {
    std::vector<source::SourceFragment> made;
    std::vector<weir_filter_fragment> table;
    for (std::uint32_t i = 0; i < detector().modules(); ++i) {
      const SourceId source(detector().first_source().value + i);
      made.push_back(group_.produce(source, kRun, trigger(id)));
      weir_filter_fragment fragment{};
      fragment.source = source.value;
      fragment.data = made.back().bytes.data();
      fragment.length = fragment.total = static_cast<std::uint32_t>(made.back().bytes.size());
      table.push_back(fragment);
    }
    KeptState state;
    weir_filter_slice slice = empty_slice();
    slice.run = kRun.value;
    slice.slice = id;
    slice.trigger_time_utc_ns = trigger(id).time;
    slice.duration_ns = kSlice;
    slice.fragments = table.data();
    slice.fragment_count = static_cast<std::uint32_t>(table.size());
    slice.state = state.raw();
    const std::clock_t before = std::clock();
    instance_->process(slice, result_);
    cpu_ += std::clock() - before;
    return result_;
  }

  // CPU time of the filter alone, since the start.
  [[nodiscard]] double cpu_ms() const { return 1e3 * static_cast<double>(cpu_) / CLOCKS_PER_SEC; }
  [[nodiscard]] const source::Detector& detector() const { return group_.detector(); }

 private:
  source::HitsGroup group_;
  FilterMetrics metrics_;
  std::unique_ptr<FilterInstance> instance_;
  FilterResult result_;
  std::clock_t cpu_ = 0;
};

// The hits of one true track, and the number of floors on which they make a level-1 coincidence by
// themselves.
struct TruthHits {
  std::map<std::uint32_t, double> time_by_source;
  std::uint32_t floors = 0;
};

TruthHits truth_hits(const source::Detector& detector, std::uint64_t slice, std::size_t index,
                     const source::Track& track) {
  TruthHits truth;
  std::map<std::uint32_t, std::vector<double>> times_by_floor;
  for (std::uint32_t i = 0; i < detector.modules(); ++i) {
    const SourceId source(detector.first_source().value + i);
    const auto hit = source::track_hit(detector, kRun, SliceId(slice), index, track, source);
    if (hit.photoelectrons == 0) continue;
    truth.time_by_source[source.value] = hit.time_ns;
    times_by_floor[detector.floor_index(source)].push_back(hit.time_ns);
  }
  for (auto& [floor, times] : times_by_floor) {
    std::sort(times.begin(), times.end());
    const auto pair = std::adjacent_find(times.begin(), times.end(),
                                         [](double a, double b) { return b - a <= kPairWindowNs; });
    truth.floors += pair == times.end() ? 0 : 1;
  }
  return truth;
}

// The track is found if most hits of one event belong to it.
bool is_found(const TruthHits& truth, const FilterResult& result) {
  for (const EventSpan& event : result.events) {
    const std::byte* at = result.event_bytes.data() + event.offset;
    const auto hits = load_le<std::uint32_t>(at + 4);
    std::uint32_t own = 0;
    for (std::uint32_t i = 0; i < hits; ++i) {
      const std::byte* entry = at + kEventHeaderBytes + kEventHitBytes * i;
      const auto known = truth.time_by_source.find(load_le<std::uint32_t>(entry));
      own += known != truth.time_by_source.end() &&
                     std::abs(known->second - load_le<std::uint32_t>(entry + 4)) <= 1.0
                 ? 1
                 : 0;
    }
    if (2 * own > hits) return true;
  }
  return false;
}

struct Efficiency {
  std::uint64_t tracks = 0;
  std::uint64_t with_light = 0;  // on at least `minimum` floors
  std::uint64_t found = 0;       // of the tracks
  double ms_per_slice = 0;
  [[nodiscard]] double share() const { return static_cast<double>(found) / static_cast<double>(with_light); }
};

Efficiency measure(Bench& bench, std::uint64_t slices, std::uint32_t minimum) {
  Efficiency sum;
  for (std::uint64_t id = 1; id <= slices; ++id) {
    const FilterResult& result = bench.process(id);
    const auto tracks = source::tracks_of(bench.detector(), kRun, trigger(id));
    sum.tracks += tracks.size();
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      const TruthHits truth = truth_hits(bench.detector(), id, i, tracks[i]);
      if (truth.floors < minimum) continue;
      ++sum.with_light;
      sum.found += is_found(truth, result) ? 1 : 0;
    }
  }
  sum.ms_per_slice = bench.cpu_ms() / static_cast<double>(slices);
  return sum;
}

std::uint64_t count_accepted(Bench& bench, std::uint64_t slices) {
  std::uint64_t accepted = 0;
  for (std::uint64_t id = 1; id <= slices; ++id) {
    const FilterResult& result = bench.process(id);
    REQUIRE(result.verdict != StepVerdict::error);
    accepted += result.verdict == StepVerdict::accept ? 1 : 0;
  }
  return accepted;
}

}  // namespace

TEST_CASE("background of 70 kHz on the sector line is rejected in at least 99 of 100 slices") {
  Bench bench(HitsSettings{}, {});
  constexpr std::uint64_t kSlices = 1000;
  const std::uint64_t accepted = count_accepted(bench, kSlices);
  WARN("15 modules, background only: " << accepted << " of " << kSlices << " slices accepted, "
                                       << bench.cpu_ms() / kSlices << " ms of CPU per slice");
  CHECK(accepted <= kSlices / 100);
}

TEST_CASE("tracks with enough level-1 floors on the sector line are kept, nine of ten at least") {
  HitsSettings settings;
  settings.track_rate_hz = 100;
  Bench bench(settings, {});
  constexpr std::uint32_t kMinimum = 3;  // the plugin's choice for this detector
  const Efficiency measured = measure(bench, 1000, kMinimum);
  WARN("15 modules: " << measured.tracks << " tracks, " << measured.with_light << " of them with " << kMinimum
                      << " level-1 floors, " << measured.found << " of these found: " << measured.share());
  CHECK(measured.with_light > 100);
  CHECK(measured.share() >= 0.9);
}

TEST_CASE("an event lists its cluster's hits as in the raw data") {
  HitsSettings settings;
  settings.track_rate_hz = 300;
  Bench bench(settings, {{"keep", "raw"}});
  std::uint64_t id = 1;
  while (bench.process(id).verdict != StepVerdict::accept) ++id;
  const FilterResult& result = bench.process(id);
  CHECK(result.keep == Keep::all);
  REQUIRE_FALSE(result.events.empty());
  const EventSpan& event = result.events.front();
  CHECK(event.id == id << 16U);
  const std::byte* at = result.event_bytes.data() + event.offset;
  CHECK(load_le<std::uint16_t>(at) == 1);
  CHECK(load_le<std::uint16_t>(at + 2) >= 3);
  const auto hits = load_le<std::uint32_t>(at + 4);
  REQUIRE(event.size == kEventHeaderBytes + kEventHitBytes * hits);
  CHECK(load_le<std::uint64_t>(at + 8) == id * std::uint64_t{kSlice});
  source::HitsGroup group(settings, false);
  for (std::uint32_t i = 0; i < hits; ++i) {
    const std::byte* entry = at + kEventHeaderBytes + kEventHitBytes * i;
    const auto raw = group.produce(SourceId(load_le<std::uint32_t>(entry)), kRun, trigger(id));
    source::HitReader reader(raw.bytes);
    bool found = false;
    while (const auto hit = reader.next()) {
      found = found || (hit->time_ns == load_le<std::uint32_t>(entry + 4) &&
                        hit->channel == std::uint8_t(entry[8]) && hit->tot_ns == std::uint8_t(entry[9]));
    }
    CHECK(found);
  }
}

TEST_CASE("ten strings of thirty floors keep tracks and reject background") {
  HitsSettings settings;
  settings.strings = 10;
  settings.floors_per_string = 30;
  constexpr std::uint64_t kSlices = 50;
  Bench quiet(settings, {});
  const std::uint64_t accepted = count_accepted(quiet, kSlices);
  settings.track_rate_hz = 200;
  Bench bench(settings, {});
  const std::uint32_t minimum = coincidence::choose_minimum(coincidence::geometry_of(bench.detector()), {});
  const Efficiency measured = measure(bench, kSlices, minimum);
  WARN("900 modules, background only: "
       << accepted << " of " << kSlices << " slices accepted; " << measured.tracks << " tracks, "
       << measured.with_light << " with " << minimum << " level-1 floors, " << measured.found
       << " of these found; " << measured.ms_per_slice << " ms of CPU per slice");
  CHECK(accepted == 0);
  CHECK(measured.share() >= 0.9);
}
