#include "../window_hits.hpp"

#include "../cluster_finder.hpp"
#include "weir_catch.hpp"
#include <weir/emulation/hits_window.hpp>
#include <weir/emulation/tracks.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::emulation;
using coincidence::Cluster;
using coincidence::ClusterFinder;
using coincidence::WindowHits;

namespace {

constexpr UtcNs kStart = 1'700'000'000 * kSecond;

HitsSettings string_of_25() {
  HitsSettings settings;
  settings.floors_per_string = 25;
  settings.background_hz = 5e3;
  settings.track_rate_hz = 4000;
  settings.window_ns = kMillisecond;
  return settings;
}

// A filter's work on windows of the emulated detector.
class Sliced {
 public:
  explicit Sliced(DurationNs overlap)
      : detector_(string_of_25()), finder_(coincidence::geometry_of(detector_), settings()) {
    source::WindowSettings windows;
    windows.overlap_ns = overlap;
    const auto group = std::make_shared<HitsGroup>(string_of_25(), false);
    for (std::uint32_t n = 0; n < detector_.modules(); ++n) {
      sources_.push_back(std::make_unique<HitsWindowSource>(SourceId(1 + n), group, windows));
      sources_.back()->begin_run(RunNumber(1));
    }
  }

  // Adds the clusters that belong to [from, from + length): UTC of the first hit, number of hits.
  void search(UtcNs from, DurationNs length, std::vector<std::pair<UtcNs, std::uint32_t>>& found) {
    finder_.clear();
    window_.clear();
    std::vector<source::SourceFragment> fragments;
    for (const auto& source : sources_) fragments.push_back(source->produce({SliceId(1), from, length, {}}));
    for (std::size_t n = 0; n < sources_.size(); ++n)
      finder_.add(sources_[n]->id().value, window_.of(fragments[n].bytes));
    for (const Cluster& cluster : finder_.find()) {
      const std::int64_t time = finder_.hits()[cluster.first_hit].time_ns;
      if (window_.begins_here(time)) found.emplace_back(from - window_.begin_ns() + time, cluster.hit_count);
    }
  }
  [[nodiscard]] const Detector& detector() const { return detector_; }

 private:
  static coincidence::FinderSettings settings() {
    coincidence::FinderSettings settings;
    settings.minimum = 4;
    return settings;
  }
  Detector detector_;
  ClusterFinder finder_;
  WindowHits window_;
  std::vector<std::unique_ptr<HitsWindowSource>> sources_;
};

constexpr std::array<DurationNs, 8> kEdges{0,   50,  100,  200,
                                           300, 500, 1000, 10'000};  // from the nearest border

struct Efficiency {
  std::array<int, kEdges.size() - 1> tracks{};
  std::array<int, kEdges.size() - 1> found{};
  [[nodiscard]] double share(std::size_t bin) const {
    return static_cast<double>(found[bin]) / static_cast<double>(std::max(tracks[bin], 1));
  }
};

// The share of tracks with a cluster, by the distance of the middle of their light from a border of slices.
// Only tracks that a search without borders finds.
Efficiency measure(DurationNs overlap, int slices) {
  constexpr DurationNs kSlice = 20 * kMicrosecond;
  Sliced sliced(overlap);
  Sliced whole(0);
  std::vector<std::pair<UtcNs, std::uint32_t>> found;
  std::vector<std::pair<UtcNs, std::uint32_t>> all;
  for (int slice = 0; slice < slices; ++slice) sliced.search(kStart + slice * kSlice, kSlice, found);
  for (UtcNs at = kStart; at < kStart + slices * kSlice; at += kMillisecond)
    whole.search(at, kMillisecond, all);
  const std::set<UtcNs> begins = [&] {
    std::set<UtcNs> times;
    for (const auto& one : found) times.insert(one.first);
    return times;
  }();
  Efficiency result;
  for (const auto& [time, hits] : all) {
    const DurationNs after = (time - kStart) % kSlice;
    const DurationNs distance = std::min(after, kSlice - after);
    const auto bin =
        static_cast<std::size_t>(std::ranges::upper_bound(kEdges, distance) - kEdges.begin()) - 1;
    if (bin >= result.tracks.size()) continue;
    ++result.tracks[bin];
    result.found[bin] += begins.contains(time) ? 1 : 0;
  }
  return result;
}

}  // namespace

TEST_CASE("slices with overlap have the clusters of the time as a whole, each once; without they lose some") {
  constexpr DurationNs kSlice = 20 * kMicrosecond;
  constexpr int kSlices = 6000;
  Sliced with(5 * kMicrosecond);
  Sliced without(0);
  Sliced whole(0);
  std::vector<std::pair<UtcNs, std::uint32_t>> found[3];
  for (int slice = 0; slice < kSlices; ++slice) {
    with.search(kStart + slice * kSlice, kSlice, found[0]);
    without.search(kStart + slice * kSlice, kSlice, found[1]);
  }
  whole.search(kStart, kSlices * kSlice, found[2]);
  for (auto& list : found) std::ranges::sort(list);
  CHECK(found[2].size() > 60);
  // A cluster across the begin or the end of the whole time is seen by the overlap alone.
  const auto inside = [&](std::vector<std::pair<UtcNs, std::uint32_t>> list) {
    std::erase_if(list, [&](const auto& one) {
      return one.first < kStart + 5000 || one.first >= kStart + kSlices * kSlice - 5000;
    });
    return list;
  };
  CHECK(inside(found[0]) == inside(found[2]));
  CHECK(inside(found[1]) != inside(found[2]));
}

TEST_CASE("hits that come in pieces get times from the window's begin") {
  const auto hit = [](std::uint32_t time) {
    std::vector<std::byte> bytes(kHitBytes);
    encode_hit({1, time, 20, {}}, bytes.data());
    return bytes;
  };
  const auto early = hit(50);
  const auto late = hit(7);
  source::Piece first{900, 100, FragmentStatus::ok, early, nullptr};
  source::Piece second{1040, 0, FragmentStatus::ok, late, nullptr};
  const source::Piece* const pieces[] = {&first, &second};
  std::vector<std::byte> fragment(source::encoded_bytes(pieces));
  source::encode_pieces({SliceId(1), 1000, 100, 60, 60}, pieces, fragment.data());
  WindowHits window;
  const ConstBytes joined = window.of(fragment);
  HitReader reader(joined);
  CHECK(reader.next()->time_ns == 10);   // 900 + 50, from 940 on
  CHECK(reader.next()->time_ns == 107);  // 1040 + 7
  CHECK_FALSE(reader.next());
  CHECK_FALSE(window.begins_here(10));
  CHECK(window.begins_here(60));
  CHECK_FALSE(window.begins_here(160));
  CHECK(window.of(early).data() == early.data());  // not a window
}

TEST_CASE("clusters are found at borders as elsewhere, with an overlap") {
  const auto near = [](const Efficiency& one) {
    constexpr std::size_t kNear = 4;  // bins, to 300 ns
    return std::pair(std::accumulate(one.tracks.begin(), one.tracks.begin() + kNear, 0),
                     std::accumulate(one.found.begin(), one.found.begin() + kNear, 0));
  };
  const auto [tracks, found] = near(measure(5 * kMicrosecond, 20'000));
  CHECK(tracks > 5);
  CHECK(found == tracks);
  const auto [tracks_without, found_without] = near(measure(0, 20'000));
  CHECK(tracks_without == tracks);
  CHECK(found_without < tracks);
}

// The figure of docs/benchmarks/borders.md: a line per bin.
TEST_CASE("efficiency at borders, as JSON lines", "[.figure]") {
  for (const DurationNs overlap : {DurationNs{0}, 5 * kMicrosecond}) {
    const Efficiency result = measure(overlap, 600'000);
    for (std::size_t bin = 0; bin < result.tracks.size(); ++bin) {
      std::printf(
          "{\"bench\":\"borders\",\"overlap_us\":%g,\"from_ns\":%lld,\"until_ns\":%lld,\"clusters\":%d,"
          "\"found\":%d,\"efficiency\":"
          "%.4f}\n",
          static_cast<double>(overlap) / 1e3, static_cast<long long>(kEdges[bin]),
          static_cast<long long>(kEdges[bin + 1]), result.tracks[bin], result.found[bin], result.share(bin));
    }
  }
}
