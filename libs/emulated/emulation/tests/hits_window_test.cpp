#include "weir_catch.hpp"
#include <weir/emulation/hits_window.hpp>
#include <weir/pieces.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::emulation;

namespace {

constexpr UtcNs kEpoch = 1'700'000'000 * kSecond + 123'456;
constexpr DurationNs kLength = 10 * kMillisecond;

HitsSettings small_detector() {
  HitsSettings settings;
  settings.background_hz = 20e3;
  settings.track_rate_hz = 400;
  settings.waveform_fraction = 0.1;
  settings.window_ns = kLength;
  return settings;
}

struct TimedHit {
  UtcNs time;
  std::uint8_t tot;
  std::size_t waveform;
  auto operator<=>(const TimedHit&) const = default;
};

std::vector<TimedHit> timed_hits_of(const source::SourceFragment& fragment) {
  REQUIRE(fragment.status == FragmentStatus::ok);
  const auto pieces = FragmentPieces::read(fragment.bytes);
  REQUIRE(pieces);
  REQUIRE(pieces->size() == 1);
  const FragmentPiece piece = *pieces->begin();
  std::vector<TimedHit> hits;
  HitReader reader(piece.bytes);
  while (const auto hit = reader.next())
    hits.push_back({pieces->time_ns() + piece.offset_ns + hit->time_ns, hit->tot_ns, hit->waveform.size()});
  CHECK_FALSE(reader.malformed());
  CHECK(std::ranges::is_sorted(hits, {}, &TimedHit::time));
  return hits;
}

std::vector<TimedHit> hits_between(SourceId source, UtcNs from, UtcNs until) {
  source::WindowSettings windows;
  HitsWindowSource one(source, std::make_shared<HitsGroup>(small_detector(), true), windows);
  one.begin_run(RunNumber(3));
  return timed_hits_of(one.produce({SliceId(1), from, until - from, {}}));
}

}  // namespace

TEST_CASE("hits near a border are the same in both windows, whatever was made before") {
  source::WindowSettings windows;
  windows.overlap_ns = 2 * kMillisecond;
  HitsWindowSource source(SourceId(2), std::make_shared<HitsGroup>(small_detector(), true), windows);
  source.begin_run(RunNumber(3));
  std::vector<TimedHit> last;
  std::size_t shared = 0;
  for (std::uint64_t slice = 0; slice < 20; ++slice) {
    const UtcNs begin = kEpoch + static_cast<DurationNs>(slice) * kLength;
    const auto hits = timed_hits_of(source.produce({SliceId(slice), begin, kLength, {}}));
    CHECK(hits ==
          hits_between(SourceId(2), begin - windows.overlap_ns, begin + kLength + windows.overlap_ns));
    std::vector<TimedHit> early;
    std::ranges::copy_if(hits, std::back_inserter(early),
                         [&](const TimedHit& hit) { return hit.time < begin + windows.overlap_ns; });
    std::erase_if(last, [&](const TimedHit& hit) { return hit.time < begin - windows.overlap_ns; });
    if (slice > 0) CHECK(early == last);
    shared += early.size();
    last = hits;
  }
  CHECK(shared > 20 * 50);
}

TEST_CASE("the hits of a time do not depend on how it is cut") {
  const auto whole = hits_between(SourceId(1), kEpoch, kEpoch + 100 * kMillisecond);
  std::vector<TimedHit> parts;
  for (DurationNs at = 0; at < 100 * kMillisecond; at += 7 * kMillisecond) {
    const auto part =
        hits_between(SourceId(1), kEpoch + at, kEpoch + std::min(at + 7 * kMillisecond, 100 * kMillisecond));
    parts.insert(parts.end(), part.begin(), part.end());
  }
  CHECK(parts == whole);
  const auto rate = static_cast<double>(whole.size()) / 0.1;
  CHECK(rate > 17e3);
  CHECK(rate < 24e3);
}

TEST_CASE("each track belongs to one slice, and tracks are as many at borders as elsewhere") {
  const Detector geometry(small_detector());
  std::set<std::pair<std::uint64_t, std::size_t>> seen;
  std::size_t near = 0;
  constexpr int kLengths = 1000;
  for (int slice = 0; slice < kLengths; ++slice) {
    const UtcNs begin = kEpoch + slice * kLength;
    for (const CellTrack& track : tracks_between(geometry, RunNumber(1), begin, begin + kLength)) {
      CHECK(seen.emplace(track.cell.slice.value, track.index).second);
      const DurationNs at = track.cell.time + static_cast<DurationNs>(track.track.time_ns) - begin;
      near += at < kLength / 20 || at >= kLength - kLength / 20;
    }
  }
  CHECK(seen.size() == tracks_between(geometry, RunNumber(1), kEpoch, kEpoch + kLengths * kLength).size());
  CHECK(static_cast<double>(seen.size()) == Approx(4000).margin(200));
  CHECK(static_cast<double>(near) == Approx(400).margin(70));
}

TEST_CASE("the truth of a slice has a line for each of its tracks") {
  const Detector geometry(small_detector());
  const SliceTruth truth =
      truth_between(geometry, RunNumber(3), {SliceId(5), kEpoch, 100 * kMillisecond, {}});
  CHECK(truth.modules.size() == static_cast<std::size_t>(std::ranges::count(truth.lines, '\n')));
  CHECK(truth.modules.size() > 20);
}
