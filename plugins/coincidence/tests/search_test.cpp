// The three searches of level-1 coincidences find the same.
#include "../cluster_finder.hpp"
#include "weir_catch.hpp"
#include <weir/emulation/hits_source.hpp>
#include <weir/hits.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

using namespace coincidence;
using weir::Hit;
using weir::emulation::HitsSettings;

namespace {

using Bytes = std::vector<std::byte>;
using SliceHits = std::vector<std::pair<std::uint32_t, Bytes>>;  // source, fragment

constexpr std::array kSearches{Search::vector, Search::scalar, Search::reference};

// Everything a finder says about a slice.
struct Answer {
  std::uint64_t hits = 0;
  std::uint64_t level1 = 0;
  std::uint64_t malformed = 0;
  std::vector<std::uint64_t> clusters;  // floors and number of hits of each, then its hits

  bool operator==(const Answer&) const = default;
};

Answer answer_of(ClusterFinder& finder, const SliceHits& slice) {
  finder.clear();
  for (const auto& [source, bytes] : slice) finder.add(source, bytes);
  Answer answer;
  for (const Cluster& cluster : finder.find()) {
    answer.clusters.insert(answer.clusters.end(), {cluster.floors, cluster.hit_count});
    for (const FoundHit& hit : finder.hits().subspan(cluster.first_hit, cluster.hit_count)) {
      answer.clusters.insert(answer.clusters.end(), {hit.source, hit.time_ns, hit.channel, hit.tot_ns});
    }
  }
  answer.hits = finder.hit_count();
  answer.level1 = finder.level1_count();
  answer.malformed = finder.malformed_count();
  return answer;
}

// The three searches with the same geometry and settings.
class Finders {
 public:
  Finders(const Geometry& geometry, FinderSettings settings) {
    for (const Search search : kSearches) {
      settings.search = search;
      finders_.emplace_back(geometry, settings);
    }
  }

  // Checks that all searches give the same, and returns it.
  Answer agree(const SliceHits& slice) {
    const Answer reference = answer_of(finders_.back(), slice);
    CHECK(answer_of(finders_[0], slice) == reference);
    CHECK(answer_of(finders_[1], slice) == reference);
    return reference;
  }

 private:
  std::vector<ClusterFinder> finders_;
};

// A slice of random hits on every source of `geometry`, each source in one of several states of disorder.
class RandomSlices {
 public:
  RandomSlices(const Geometry& geometry, std::uint64_t seed) : geometry_(geometry), random_(seed) {}

  SliceHits next() {
    SliceHits slice;
    const std::uint32_t span_ns = std::array{300U, 20'000U, 1'000'000U, 4'000'000'000U}[random_() % 4];
    const std::uint32_t hits_max = std::array{1U, 20U, 300U}[random_() % 3];
    const bool with_faults = random_() % 2 == 0;
    for (const SourcePlace& place : geometry_.sources) {
      slice.emplace_back(place.source, fragment(span_ns, hits_max, with_faults));
    }
    if (with_faults && random_() % 4 == 0) slice.push_back(slice.front());
    return slice;
  }

 private:
  Bytes fragment(std::uint32_t span_ns, std::uint32_t hits_max, bool with_faults) {
    std::vector<std::uint32_t> times(random_() % (hits_max + 1));
    for (std::uint32_t& time : times) time = static_cast<std::uint32_t>(random_() % span_ns);
    const std::uint64_t fault = with_faults ? random_() % 8 : 8;
    if (fault != 0) std::sort(times.begin(), times.end());
    if (fault == 1 && !times.empty()) times.back() = UINT32_MAX;
    Bytes bytes;
    for (const std::uint32_t time : times) {
      Hit hit{static_cast<std::uint8_t>(random_() % 3), time, static_cast<std::uint8_t>(random_()), {}};
      std::array<std::byte, weir::waveform_hit_bytes(2)> encoded{};
      std::size_t size = weir::kHitBytes;
      if (fault == 2 && random_() % 16 == 0) {
        const Bytes samples(weir::kWaveformBytes * (1 + random_() % 2));
        hit.waveform = samples;
        size = weir::encode_waveform_hit(hit, encoded.data());
      } else {
        weir::encode_hit(hit, encoded.data());
      }
      bytes.insert(bytes.end(), encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(size));
    }
    if (fault == 3) bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), random_() % 20));
    if (fault == 4 && !bytes.empty()) bytes[random_() % bytes.size()] |= std::byte{0x80};
    return bytes;
  }

  const Geometry& geometry_;
  std::mt19937_64 random_;
};

Geometry emulated(std::uint32_t strings, std::uint32_t floors, std::uint32_t modules) {
  HitsSettings settings;
  settings.strings = strings;
  settings.floors_per_string = floors;
  settings.modules_per_floor = modules;
  return geometry_of(weir::emulation::Detector(settings));
}

std::vector<SliceHits> emulated_slices(const HitsSettings& settings, std::uint64_t count) {
  weir::emulation::HitsGroup group(settings, false);
  std::vector<SliceHits> slices(count);
  for (std::uint64_t id = 0; id < count; ++id) {
    const weir::source::Trigger trigger{.slice = weir::SliceId(id + 1),
                                        .time = static_cast<weir::UtcNs>(id + 1) * 10 * weir::kMillisecond,
                                        .duration = 10 * weir::kMillisecond,
                                        .type = {}};
    for (std::uint32_t i = 0; i < group.detector().modules(); ++i) {
      const weir::SourceId source(group.detector().first_source().value + i);
      const auto made = group.produce(source, weir::RunNumber(3), trigger);
      slices[id].emplace_back(source.value, Bytes(made.bytes.begin(), made.bytes.end()));
    }
  }
  return slices;
}

}  // namespace

TEST_CASE("vector, scalar and reference search find the same in random slices with damaged fragments") {
  const std::array geometries{emulated(1, 5, 3), emulated(1, 3, 1), emulated(2, 2, 9), emulated(1, 1, 2)};
  std::uint64_t clusters = 0;
  std::uint64_t malformed = 0;
  for (std::size_t which = 0; which < geometries.size(); ++which) {
    for (const double window_ns : {20.0, 0.0, 7.5, 5000.0}) {
      FinderSettings settings;
      settings.minimum = 2;
      settings.pair_window_ns = window_ns;
      Finders finders(geometries[which], settings);
      RandomSlices slices(geometries[which], which * 100 + static_cast<std::uint64_t>(window_ns));
      for (int i = 0; i < 150; ++i) {
        const Answer answer = finders.agree(slices.next());
        clusters += answer.clusters.size();
        malformed += answer.malformed;
      }
    }
  }
  CHECK(clusters > 10'000);
  CHECK(malformed > 100);
}

TEST_CASE("vector, scalar and reference search find the same in emulated slices with tracks and bursts") {
  HitsSettings settings;
  settings.track_rate_hz = 300;
  settings.burst_fraction = 0.2;
  FinderSettings finder;
  finder.minimum = 3;
  Finders finders(geometry_of(weir::emulation::Detector(settings)), finder);
  std::uint64_t level1 = 0;
  std::uint64_t clusters = 0;
  for (const SliceHits& slice : emulated_slices(settings, 300)) {
    const Answer answer = finders.agree(slice);
    level1 += answer.level1;
    clusters += answer.clusters.size();
  }
  CHECK(level1 > 1000);
  CHECK(clusters > 1000);
}
