#include "../detx.hpp"

#include "../cluster_finder.hpp"
#include "weir_catch.hpp"
#include <weir/hits.hpp>

#include <sstream>
#include <vector>

using Catch::ContainsSubstring;

namespace {

coincidence::Geometry read(const std::string& text) {
  std::istringstream file(text);
  return coincidence::read_geometry(file, "d.detx");
}

std::string refusal(const std::string& text) {
  try {
    (void)read(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

// Two modules of two channels, and one without any at the foot of the string, in every version's words.
std::string detector(int version) {
  const std::string number = std::to_string(version);
  const bool with_place = version >= 4;
  const std::string more = version == 5 ? " 0" : "";
  const auto module = [&](const std::string& id, const std::string& at, const std::string& channels) {
    return id + " 1 1 " + (with_place ? at + " 1 0 0 0 0" + more + " " : "") + channels + "\n";
  };
  const std::string status = version >= 3 ? " 0\n" : "\n";
  return (version == 1 ? "7 3\n"
                       : "# made by hand\n7 v" + number + "\n0.0 9999999999.0\nUTM WGS84 32N 1 2 3\n3\n") +
         module("900", "1 2 3", "0") + module("808", "0 0 100", "2") + " 1 0 0 99 0 0 -1 1000.4" + status +
         "\n 2 0 0 101 0 0 1 1010.4" + status + module("801", "0 0 130", "2") + " 3 0 0 129 0 0 -1 1200.4" +
         status + " 4 0 0 131 0 0 1 1000.4" + status;
}

}  // namespace

TEST_CASE("a detx file of every version gives modules, positions and delays") {
  for (int version = 1; version <= 5; ++version) {
    INFO(version);
    const auto geometry = read(detector(version));
    REQUIRE(geometry.sources.size() == 2);
    CHECK(geometry.sources[0].source == 801);
    CHECK(geometry.sources[1].source == 808);
    REQUIRE(geometry.floors.size() == 2);
    CHECK(geometry.floors[geometry.sources[0].floor].z == Approx(130));
    CHECK(geometry.floors[geometry.sources[1].floor].z == Approx(100));
    const auto delay = [&](std::size_t source, std::size_t channel) {
      return geometry.delays_ns[geometry.sources[source].first_delay + channel];
    };
    CHECK(geometry.sources[0].channels == 2);
    CHECK(delay(0, 0) == 200);
    CHECK(delay(0, 1) == 0);
    CHECK(delay(1, 1) == 10);
  }
}

TEST_CASE("a detx file that is wrong is refused with its name and line") {
  CHECK_THAT(refusal("7 v6\n0 1\nUTM\n0\n"), ContainsSubstring("d.detx, line 1"));
  CHECK_THAT(refusal("7 1\n801 1 1 x\n"), ContainsSubstring("line 2"));
  CHECK_THAT(refusal("7 1\n801 1 1 2\n 1 0 0 99 0 0 -1 10\n"), ContainsSubstring("channels of module 801"));
  CHECK_THAT(refusal("7 1\n801 1 1 1\n 1 0 0 99 0 0\n"), ContainsSubstring("line 3"));
  CHECK_THAT(refusal("7 1\n801 1 1 200\n"), ContainsSubstring("line 2"));
  CHECK_THAT(refusal("7 0\n"), ContainsSubstring("no channel"));
  CHECK_THAT(refusal("7 2\n801 1 1 1\n 1 0 0 9 0 0 1 0\n801 1 2 1\n 2 0 0 9 0 0 1 0\n"),
             ContainsSubstring("source 801 is listed twice"));
  CHECK_THAT(refusal("7 1\n801 1 1 2\n 1 0 0 9 0 0 1 0\n 2 0 0 9 0 0 1 3e9\n"), ContainsSubstring("2 s"));
}

TEST_CASE("hits coincide when their calibrated times do") {
  // Light of one flash, as raw times of channels with delays of 10 and 200 ns.
  const auto geometry = read(detector(5));
  coincidence::FinderSettings settings;
  settings.minimum = 2;
  const auto clusters_of = [&](std::uint32_t first_raw, std::uint32_t second_raw) {
    coincidence::ClusterFinder finder(geometry, settings);
    finder.clear();
    std::vector<std::byte> lower(2 * weir::kHitBytes);
    std::vector<std::byte> upper(2 * weir::kHitBytes);
    weir::encode_hit({0, 5000, 20, {}}, lower.data());
    weir::encode_hit({1, 5000 - 10 + first_raw, 20, {}}, lower.data() + weir::kHitBytes);
    weir::encode_hit({1, 5100, 20, {}}, upper.data());
    weir::encode_hit({0, 5100 - 200 + second_raw, 20, {}}, upper.data() + weir::kHitBytes);
    finder.add(808, lower);
    finder.add(801, upper);
    const auto clusters = finder.find();
    if (!clusters.empty()) CHECK(finder.hits()[clusters.front().first_hit].time_ns == 5000);
    return clusters.size();
  };
  CHECK(clusters_of(0, 0) == 1);
  CHECK(clusters_of(0, 50) == 0);  // 50 ns apart in one module
  CHECK(clusters_of(50, 0) == 0);
}
