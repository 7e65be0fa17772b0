// The plugin itself on emulated slices with known tracks; `weir bench coincidence` measures more of the same.
#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/bench/emulated_trigger.hpp>

using namespace weir;
using namespace weir::bench;
using namespace weir::filter_host;
using emulation::HitsSettings;

namespace {

constexpr double kPairWindowNs = 20;

TriggerScore score_of(const HitsSettings& settings, std::uint64_t slices) {
  emulation::HitsGroup group(settings, false);
  EmulatedTrigger trigger(settings, {}, {WEIR_PLUGIN_DIR});
  TriggerScore score;
  for (std::uint64_t id = 1; id <= slices; ++id) {
    const EmulatedSlice slice(group, id);
    const auto tracks = slice.tracks(kPairWindowNs);
    const FilterResult& result = trigger.process(slice);
    score.add(slice, tracks, result, trigger.cpu_ns());
  }
  return score;
}

}  // namespace

TEST_CASE("background of 70 kHz on the sector line is rejected in at least 99 of 100 slices") {
  const TriggerScore score = score_of(HitsSettings{}, 1000);
  WARN("15 modules, background only: " << score.accepted << " of " << score.slices << " slices accepted, "
                                       << score.median_cpu_ms() << " ms of CPU per slice");
  CHECK(score.accepted <= score.slices / 100);
}

TEST_CASE("95 % of tracks with enough level-1 floors on the sector line are found") {
  HitsSettings settings;
  settings.track_rate_hz = 100;
  constexpr std::uint32_t kMinimum = 3;  // the plugin's choice for this detector
  const TriggerScore score = score_of(settings, 1000);
  const TrackCounts found = score.long_tracks(kMinimum);
  WARN("15 modules: " << score.long_tracks(0).tracks << " tracks, " << found.tracks << " of them with "
                      << kMinimum << " level-1 floors, " << found.found << " of these found");
  CHECK(found.tracks > 100);
  CHECK(found.share() >= 0.95);
}

TEST_CASE("an event lists its cluster's hits as in the raw data") {
  HitsSettings settings;
  settings.track_rate_hz = 300;
  emulation::HitsGroup group(settings, false);
  EmulatedTrigger trigger(settings, {{"keep", "raw"}}, {WEIR_PLUGIN_DIR});
  std::uint64_t id = 1;
  while (trigger.process(EmulatedSlice(group, id)).verdict != StepVerdict::accept) ++id;
  const FilterResult& result = trigger.process(EmulatedSlice(group, id));
  CHECK(result.keep == Keep::all);
  REQUIRE_FALSE(result.events.empty());
  const EventSpan& event = result.events.front();
  CHECK(event.id == id << 16U);
  const std::byte* at = result.event_bytes.data() + event.offset;
  CHECK(load_le<std::uint16_t>(at) == 1);
  CHECK(load_le<std::uint16_t>(at + 2) >= 3);
  const auto hits = load_le<std::uint32_t>(at + 4);
  REQUIRE(event.size == std::size_t{16} + 12 * hits);
  CHECK(load_le<std::uint64_t>(at + 8) == id * std::uint64_t{kEmulatedSliceNs});
  for (std::uint32_t i = 0; i < hits; ++i) {
    const std::byte* entry = at + std::size_t{16} + 12 * i;
    const auto raw =
        group.produce(SourceId(load_le<std::uint32_t>(entry)), RunNumber(7), emulated_trigger(id));
    HitReader reader(raw.bytes);
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
  const TriggerScore quiet = score_of(settings, kSlices);
  settings.track_rate_hz = 200;
  constexpr std::uint32_t kMinimum = 7;  // the plugin's choice for this detector
  const TriggerScore score = score_of(settings, kSlices);
  const TrackCounts found = score.long_tracks(kMinimum);
  WARN("900 modules, background only: "
       << quiet.accepted << " of " << kSlices << " slices accepted; " << score.long_tracks(0).tracks
       << " tracks, " << found.tracks << " with " << kMinimum << " level-1 floors, " << found.found
       << " of these found; " << score.median_cpu_ms() << " ms of CPU per slice");
  CHECK(quiet.accepted == 0);
  CHECK(found.tracks > 10);
  CHECK(found.share() >= 0.95);
}
