#include "../geometry.hpp"

#include "weir_catch.hpp"

#include <sstream>

using Catch::ContainsSubstring;

TEST_CASE("the hits source's detector has its modules on floors, and the floors where they are") {
  const auto geometry = coincidence::geometry_of(weir::emulation::Detector({}));
  REQUIRE(geometry.floors.size() == 5);
  REQUIRE(geometry.sources.size() == 15);
  CHECK(geometry.sources[3].floor == 1);
  CHECK(weir::emulation::length(geometry.floors[1] - geometry.floors[0]) == Approx(14.5));
  CHECK(geometry.longest_distance_m() == Approx(58));
}

TEST_CASE("a geometry file lists sources, floors and positions") {
  std::istringstream file("# a comment\n\n7 100 0 0 10\n3 100 0 2 10\n5 200 0 0 30\n");
  const auto geometry = coincidence::read_geometry(file, "g.txt");
  REQUIRE(geometry.sources.size() == 3);
  CHECK(geometry.sources[0].source == 3);
  CHECK(geometry.floors[geometry.sources[0].floor].y == Approx(1));
  CHECK(geometry.sources[0].floor == geometry.sources[2].floor);
}

TEST_CASE("a geometry file that is wrong is refused with its name and line") {
  const auto message = [](const std::string& text) {
    std::istringstream file(text);
    try {
      (void)coincidence::read_geometry(file, "g.txt");
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(message("1 1 0 0 0\n1 two 0 0 0\n"), ContainsSubstring("g.txt, line 2"));
  CHECK_THAT(message("1 1 0 0\n"), ContainsSubstring("line 1"));
  CHECK_THAT(message("1 1 0 0 0 0\n"), ContainsSubstring("line 1"));
  CHECK_THAT(message("1 1 0 0 0\n1 2 0 0 0\n"), ContainsSubstring("source 1 is listed twice"));
  CHECK_THAT(message("# nothing\n"), ContainsSubstring("lists no source"));
}
