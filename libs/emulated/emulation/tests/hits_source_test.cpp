#include "weir_catch.hpp"
#include <weir/base/crc32c.hpp>
#include <weir/emulation/hits_source.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace weir;
using namespace weir::emulation;
using namespace weir::source;

namespace {

constexpr RunNumber kRun(5);

source::Trigger slice_of(std::uint64_t slice, DurationNs duration = 10 * kMillisecond) {
  return {SliceId(slice), static_cast<UtcNs>(slice) * duration, duration, TriggerType()};
}

std::vector<Hit> hits_of(const SourceFragment& fragment) {
  std::vector<Hit> hits;
  HitReader reader(fragment.bytes);
  while (const auto hit = reader.next()) hits.push_back(*hit);
  REQUIRE_FALSE(reader.malformed());
  return hits;
}

HitsSettings tracks_only() {
  HitsSettings settings;
  settings.background_hz = 0;
  settings.track_rate_hz = 400;
  return settings;
}

}  // namespace

TEST_CASE("background hits have the configured rate, ascending, on the module's channel", "[hits]") {
  HitsGroup group(HitsSettings{}, true);
  std::size_t count = 0;
  for (std::uint64_t slice = 0; slice < 50; ++slice) {
    const SourceFragment fragment = group.produce(SourceId(3), kRun, slice_of(slice));
    CHECK(fragment.crc32c == crc32c(fragment.bytes));
    const auto hits = hits_of(fragment);
    CHECK(std::is_sorted(hits.begin(), hits.end(), [](auto& a, auto& b) { return a.time_ns < b.time_ns; }));
    CHECK(std::all_of(hits.begin(), hits.end(), [](auto& hit) {
      return hit.channel == 2 && hit.time_ns < 10'000'000 && hit.waveform.empty();
    }));
    count += hits.size();
  }
  CHECK(static_cast<double>(count) == Approx(50 * 700).epsilon(0.03));  // 5 sigma
}

TEST_CASE("the share of hits with a waveform is as set, and both lengths occur", "[hits]") {
  HitsSettings settings;
  settings.waveform_fraction = 0.1;
  HitsGroup group(settings, false);
  std::size_t all = 0;
  std::size_t with = 0;
  std::size_t longer = 0;
  for (std::uint64_t slice = 0; slice < 50; ++slice) {
    const SourceFragment fragment = group.produce(SourceId(1), kRun, slice_of(slice));
    for (const Hit& hit : hits_of(fragment)) {
      ++all;
      if (!hit.waveform.empty()) ++with;
      if (hit.waveform.size() == 2 * kWaveformBytes) ++longer;
    }
  }
  CHECK(static_cast<double>(with) / static_cast<double>(all) == Approx(0.1).epsilon(0.1));
  CHECK(static_cast<double>(longer) / static_cast<double>(with) == Approx(0.5).epsilon(0.1));
}

TEST_CASE("a slice requested twice gives the same bytes, another run or seed others", "[hits]") {
  HitsSettings settings;
  settings.waveform_fraction = 0.01;
  settings.track_rate_hz = 100;
  settings.burst_fraction = 0.2;
  HitsGroup group(settings, true);
  HitsGroup again(settings, true);
  settings.seed = 2;
  HitsGroup other(settings, true);
  const auto crc = group.produce(SourceId(4), kRun, slice_of(9)).crc32c;
  (void)group.produce(SourceId(4), kRun, slice_of(10));
  CHECK(group.produce(SourceId(4), kRun, slice_of(9)).crc32c == crc);
  CHECK(again.produce(SourceId(4), kRun, slice_of(9)).crc32c == crc);
  CHECK(group.produce(SourceId(4), RunNumber(6), slice_of(9)).crc32c != crc);
  CHECK(other.produce(SourceId(4), kRun, slice_of(9)).crc32c != crc);
}

TEST_CASE("bursts take their share of the time, go on over slices and are alike on a floor", "[hits]") {
  HitsSettings settings;
  settings.burst_fraction = 0.1;
  settings.burst_s_max = 0.3;
  std::vector<RateSegment> segments;
  double burst_ns = 0;
  std::vector<double> calm_ns;  // between bursts
  double last_rate = settings.background_hz;
  double calm_since_ns = 0;
  constexpr int kSlices = 100'000;  // 1000 s, some 630 bursts
  for (int slice = 0; slice < kSlices; ++slice) {
    background_rate(settings, 3, slice * 10 * kMillisecond, 10 * kMillisecond, segments);
    double start = 0;
    for (const RateSegment& segment : segments) {
      CHECK(segment.end_ns > start);
      if (segment.rate_hz > settings.background_hz) burst_ns += segment.end_ns - start;
      const double now = slice * 1e7 + start;
      if (segment.rate_hz > last_rate) calm_ns.push_back(now - calm_since_ns);
      if (segment.rate_hz < last_rate) calm_since_ns = now;
      last_rate = segment.rate_hz;
      start = segment.end_ns;
    }
    REQUIRE(start == 1e7);
  }
  CHECK(burst_ns / (kSlices * 1e7) == Approx(0.1).epsilon(0.15));
  // A burst that the end of a slice cut would give more of them. Starts have a rate of -2 ln(1 - 0.1) / 0.3
  // s.
  CHECK(calm_ns.size() == Approx(1000 * 0.9 * 0.7024).epsilon(0.12));
  // Times between independent starts: of an exponential distribution 1 - 1/e are below the mean.
  const double mean =
      std::accumulate(calm_ns.begin(), calm_ns.end(), 0.0) / static_cast<double>(calm_ns.size());
  const auto shorter = std::ranges::count_if(calm_ns, [&](double gap) { return gap < mean; });
  CHECK(static_cast<double>(shorter) / static_cast<double>(calm_ns.size()) == Approx(0.632).margin(0.06));
}

TEST_CASE("the rate of hits rises by the factor in a burst", "[hits]") {
  HitsSettings settings;
  settings.burst_fraction = 0.5;
  settings.burst_s_max = 0.5;
  HitsGroup group(settings, false);
  std::vector<RateSegment> segments;
  std::size_t calm_or_burst = 0;
  for (std::uint64_t slice = 0; slice < 100; ++slice) {
    background_rate(settings, 0, slice_of(slice).time, 10 * kMillisecond, segments);
    if (segments.size() != 1) continue;
    ++calm_or_burst;
    const double expected = segments[0].rate_hz * 0.01;
    const auto count = static_cast<double>(hits_of(group.produce(SourceId(1), kRun, slice_of(slice))).size());
    CHECK(count == Approx(expected).margin(6 * std::sqrt(expected)));
  }
  CHECK(calm_or_burst > 50);
}

TEST_CASE("a floor's burst rate also holds before 1970", "[hits]") {
  HitsSettings settings;
  settings.burst_fraction = 0.3;
  std::vector<RateSegment> segments;
  background_rate(settings, 1, -123'456'789'012'345, kSecond, segments);
  REQUIRE_FALSE(segments.empty());
  CHECK(segments.back().end_ns == 1e9);
}

TEST_CASE("every source of the detector draws the same tracks, at the rate set", "[tracks]") {
  const Detector detector(tracks_only());
  std::size_t count = 0;
  for (std::uint64_t slice = 0; slice < 1000; ++slice) {
    const auto tracks = tracks_of(detector, kRun, slice_of(slice));
    const auto again = tracks_of(Detector(tracks_only()), kRun, slice_of(slice));
    REQUIRE(tracks.size() == again.size());
    count += tracks.size();
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      CHECK(tracks[i].time_ns == again[i].time_ns);
      CHECK(length(tracks[i].direction) == Approx(1));
      CHECK(dot(tracks[i].direction, tracks[i].point) == Approx(0).margin(1e-9));
      CHECK(length(tracks[i].point) <= detector.radius_m());
    }
  }
  CHECK(static_cast<double>(count) == Approx(4000).epsilon(0.08));  // 5 sigma
}

TEST_CASE("light obeys the cone: a point on the track, the foot, and a hand-computed one", "[tracks]") {
  Track track;
  track.direction = {0, 0, 1};
  track.time_ns = 100;
  CHECK(light_at(track, {0, 0, 30}).time_ns == Approx(100 + 30 / kSpeedOfLight));
  // At 10 m from the track, the light left it 10 / tan(42.2 deg) m before the closest point, and travelled 10
  // / sin(42.2 deg) m.
  const Light light = light_at(track, {10, 0, 0});
  CHECK(light.distance_m == Approx(10));
  const double theta = std::acos(1 / 1.3499);
  const double emitted = 100 - 10 / std::tan(theta) / 0.299792458;
  CHECK(light.time_ns == Approx(emitted + 10 / std::sin(theta) / 0.299792458 * 1.3800851282));
  CHECK(theta * 180 / std::numbers::pi == Approx(42.2).margin(0.05));
}

TEST_CASE("light gets less with the distance, and not more than at 1 m", "[tracks]") {
  const HitsSettings settings;
  CHECK(expected_photoelectrons(settings, 1) == Approx(settings.photoelectrons_at_1m));
  CHECK(expected_photoelectrons(settings, 0.1) == expected_photoelectrons(settings, 1));
  for (double d = 1; d < 300; d *= 1.5) {
    CHECK(expected_photoelectrons(settings, 1.5 * d) < expected_photoelectrons(settings, d) / 1.5);
  }
}

TEST_CASE("hits of tracks lie on the light cone within the smear, and none is lost", "[tracks]") {
  const HitsSettings settings = tracks_only();
  HitsGroup group(settings, false);
  const Detector& detector = group.detector();
  std::size_t found = 0;
  for (std::uint64_t slice = 0; slice < 50; ++slice) {
    const auto tracks = tracks_of(detector, kRun, slice_of(slice));
    for (std::uint32_t source = 1; source <= detector.modules(); ++source) {
      const SourceFragment fragment = group.produce(SourceId(source), kRun, slice_of(slice));
      const auto hits = hits_of(fragment);
      std::size_t expected = 0;
      for (std::size_t i = 0; i < tracks.size(); ++i) {
        const TrackHit hit = track_hit(detector, kRun, SliceId(slice), i, tracks[i], SourceId(source));
        if (hit.photoelectrons > 0) ++expected;
      }
      CHECK(hits.size() == expected);
      for (const Hit& hit : hits) {
        double nearest = 1e9;
        for (const Track& track : tracks) {
          const double time = light_at(track, detector.position(SourceId(source))).time_ns;
          nearest = std::min(nearest, std::abs(time - hit.time_ns));
        }
        CHECK(nearest < 6 * settings.time_smear_ns + 1);
        ++found;
      }
    }
  }
  CHECK(found > 1000);
}

TEST_CASE("track hits are sorted into the background by time", "[tracks]") {
  HitsSettings settings;
  settings.track_rate_hz = 10'000;
  HitsGroup group(settings, false);
  settings.track_rate_hz = 0;
  HitsGroup background(settings, false);
  const SourceFragment fragment = group.produce(SourceId(7), kRun, slice_of(1));
  const auto hits = hits_of(fragment);
  CHECK(std::is_sorted(hits.begin(), hits.end(), [](auto& a, auto& b) { return a.time_ns < b.time_ns; }));
  const SourceFragment without = background.produce(SourceId(7), kRun, slice_of(1));
  CHECK(hits.size() > without.bytes.size() / kHitBytes + 20);
}

TEST_CASE("the truth is a line of JSON per track", "[tracks]") {
  const Detector detector(tracks_only());
  const Trigger trigger = slice_of(3);
  const std::size_t tracks = tracks_of(detector, kRun, trigger).size();
  REQUIRE(tracks > 0);
  const auto [lines, modules] = truth_of(detector, kRun, trigger);
  CHECK(modules.size() == tracks);
  CHECK(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')) == tracks);
  CHECK(lines.find(R"({"run":5,"slice":3,"track":0,"utc_ns":30000000,"time_ns":)") == 0);
  CHECK(lines.find("\"modules\":" + std::to_string(modules.front()) + ",") != std::string::npos);
}

TEST_CASE("a trigger without a duration gets the window, and one that is too dense is truncated", "[hits]") {
  HitsSettings settings;
  settings.window_ns = kMillisecond;
  HitsGroup group(settings, false);
  const Trigger event{SliceId(1), 0, 0, TriggerType()};
  for (const Hit& hit : hits_of(group.produce(SourceId(1), kRun, event))) CHECK(hit.time_ns < 1'000'000);
  settings.background_hz = 1e8;
  HitsGroup dense(settings, false);
  const SourceFragment fragment = dense.produce(SourceId(1), kRun, slice_of(1, 100 * kMillisecond));
  CHECK(fragment.status == FragmentStatus::truncated);
  CHECK(fragment.bytes.size() <= kHitsBytesMax);
  CHECK(fragment.bytes.size() % kHitBytes == 0);
}

TEST_CASE("a detector that sees nothing gives empty fragments", "[hits]") {
  HitsSettings settings;
  settings.background_hz = 0;
  HitsGroup group(settings, true);
  const SourceFragment fragment = group.produce(SourceId(1), kRun, slice_of(1));
  CHECK(fragment.status == FragmentStatus::ok);
  CHECK(fragment.bytes.empty());
  CHECK_THROWS_WITH(HitsGroup(
                        [] {
                          HitsSettings bad;
                          bad.burst_factor = -1;
                          return bad;
                        }(),
                        true),
                    Catch::ContainsSubstring("burst_factor"));
}
