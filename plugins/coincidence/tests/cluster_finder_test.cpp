#include "../cluster_finder.hpp"

#include "weir_catch.hpp"
#include <weir/hits.hpp>

#include <deque>
#include <utility>
#include <vector>

using coincidence::ClusterFinder;
using coincidence::FinderSettings;
using weir::Hit;

namespace {

// Keeps the fragments that the finder reads.
class Finder : public ClusterFinder {
 public:
  using ClusterFinder::ClusterFinder;

  void keep(std::uint32_t source, std::vector<std::byte> bytes) {
    add(source, fragments_.emplace_back(std::move(bytes)));
  }

 private:
  std::deque<std::vector<std::byte>> fragments_;
};

// A string of five floors, 14.5 m (67 ns of light) apart, three modules each: sources 1 to 15.
Finder sector(std::uint32_t minimum) {
  FinderSettings settings;
  settings.minimum = minimum;
  return Finder(coincidence::geometry_of(weir::emulation::Detector({})), settings);
}

std::vector<std::byte> fragment(const std::vector<std::uint32_t>& times, std::uint8_t tot = 10) {
  std::vector<std::byte> bytes(times.size() * weir::kHitBytes);
  for (std::size_t i = 0; i < times.size(); ++i) {
    weir::encode_hit(Hit{0, times[i], tot, {}}, bytes.data() + i * weir::kHitBytes);
  }
  return bytes;
}

void add(Finder& finder, std::uint32_t source, const std::vector<std::uint32_t>& times) {
  finder.keep(source, fragment(times));
}

// A pair on modules 0 and 1 of the floor.
void add_pair(Finder& finder, std::uint32_t floor, std::uint32_t time) {
  add(finder, 1 + floor * 3, {time});
  add(finder, 2 + floor * 3, {time + 5});
}

}  // namespace

TEST_CASE("two modules of one floor within 20 ns are a level-1 coincidence, further apart they are none") {
  Finder finder = sector(2);
  add(finder, 1, {1000, 5000});
  add(finder, 2, {1020, 5021});
  CHECK(finder.find().empty());
  CHECK(finder.level1_count() == 1);
}

TEST_CASE(
    "two hits of the same module are not a coincidence, even with another module's hit at the end of the "
    "chain") {
  Finder finder = sector(2);
  add(finder, 1, {1000, 1010});
  (void)finder.find();
  CHECK(finder.level1_count() == 0);
  finder.clear();
  add(finder, 1, {1000, 1015, 1030});
  add(finder, 2, {1051});
  (void)finder.find();
  CHECK(finder.level1_count() == 0);
}

TEST_CASE("a pair is found through a third hit of one of the two modules between them") {
  Finder finder = sector(2);
  add(finder, 1, {1000});
  add(finder, 2, {995, 1008});
  (void)finder.find();
  CHECK(finder.level1_count() == 1);
}

TEST_CASE(
    "pairs of three floors that light can connect are one cluster with all their hits in order of time") {
  Finder finder = sector(3);
  add_pair(finder, 0, 10000);
  add_pair(finder, 1, 10060);
  add_pair(finder, 2, 10120);
  const auto clusters = finder.find();
  REQUIRE(clusters.size() == 1);
  CHECK(clusters[0].floors == 3);
  CHECK(clusters[0].hit_count == 6);
  CHECK(finder.hits().front().source == 1);
  CHECK(finder.hits().back().source == 8);
  CHECK(finder.hits().back().time_ns == 10125);
  CHECK(finder.hits().back().tot_ns == 10);
}

TEST_CASE("pairs that light cannot connect are not a cluster") {
  Finder finder = sector(2);
  add_pair(finder, 0, 10000);
  add_pair(finder, 1, 10090);  // 67 + 20 ns are allowed
  CHECK(finder.find().empty());
  CHECK(finder.level1_count() == 2);
}

TEST_CASE("an unconnected pair within the window of a track does not hide it") {
  Finder finder = sector(3);
  add_pair(finder, 4, 9990);  // connected with the first, not with the others
  add_pair(finder, 0, 10000);
  add_pair(finder, 1, 10060);
  add_pair(finder, 2, 10280);  // connected with floor 4's pair only
  add_pair(finder, 3, 10200);
  const auto clusters = finder.find();
  REQUIRE(clusters.size() == 1);
  CHECK(clusters[0].floors == 3);
}

TEST_CASE("two pairs of one floor count as one floor") {
  Finder finder = sector(2);
  add(finder, 1, {1000, 1030});
  add(finder, 2, {1001, 1031});
  CHECK(finder.find().empty());
}

TEST_CASE("a fragment that ends in the middle of a hit is reported, and its whole hits count") {
  Finder finder = sector(2);
  std::vector<std::byte> bytes = fragment({1000, 2000});
  bytes.pop_back();
  finder.keep(1, bytes);
  (void)finder.find();
  CHECK(finder.malformed_count() == 1);
  CHECK(finder.hit_count() == 1);
}

TEST_CASE("hits that are out of order are found as well") {
  Finder finder = sector(2);
  add(finder, 1, {5000, 1000});
  add(finder, 2, {1003});
  (void)finder.find();
  CHECK(finder.level1_count() == 1);
}

TEST_CASE("a fragment of a million hits at one moment takes linear time") {
  Finder finder = sector(2);
  add(finder, 1, std::vector<std::uint32_t>(1'000'000, 77));
  CHECK(finder.find().empty());
}

TEST_CASE("the least number of floors grows with the detector and with the background") {
  const FinderSettings settings;
  weir::emulation::HitsSettings large;
  large.strings = 10;
  large.floors_per_string = 30;
  const auto small = coincidence::geometry_of(weir::emulation::Detector({}));
  const std::uint32_t few = coincidence::choose_minimum(small, settings);
  CHECK(few == 3);
  CHECK(coincidence::choose_minimum(coincidence::geometry_of(weir::emulation::Detector(large)), settings) >
        few);
  FinderSettings bright;
  bright.background_hz = 500e3;
  CHECK(coincidence::choose_minimum(small, bright) > few);
}
