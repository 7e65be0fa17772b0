#include "weir_catch.hpp"
#include <weir/emulation/detector.hpp>

using namespace weir;
using namespace weir::emulation;

TEST_CASE("source ids run along modules, floors and strings, and back", "[detector]") {
  HitsSettings settings;
  settings.first_source = SourceId(100);
  settings.strings = 3;
  settings.floors_per_string = 4;
  const Detector detector(settings);
  REQUIRE(detector.modules() == 36);
  std::uint32_t expected = 100;
  for (std::uint32_t string = 0; string < 3; ++string) {
    for (std::uint32_t floor = 0; floor < 4; ++floor) {
      for (std::uint32_t module = 0; module < 3; ++module, ++expected) {
        const ModulePlace place{string, floor, module};
        CHECK(detector.source(place) == SourceId(expected));
        CHECK(detector.place(SourceId(expected)) == place);
        CHECK(detector.floor_index(SourceId(expected)) == string * 4 + floor);
      }
    }
  }
  CHECK_FALSE(detector.contains(SourceId(99)));
  CHECK(detector.contains(SourceId(135)));
  CHECK_FALSE(detector.contains(SourceId(136)));
}

TEST_CASE("strings keep their distance and floors are above one another", "[detector]") {
  HitsSettings settings;
  settings.strings = 19;
  settings.floors_per_string = 2;
  settings.modules_per_floor = 1;
  settings.module_radius_m = 0;
  const Detector detector(settings);
  for (std::uint32_t a = 0; a < 19; ++a) {
    const Vector3 low = detector.position(detector.source({a, 0, 0}));
    const Vector3 high = detector.position(detector.source({a, 1, 0}));
    CHECK(high.z - low.z == Approx(14.5));
    CHECK(high.x == low.x);
    double nearest = 1e9;
    for (std::uint32_t b = 0; b < 19; ++b) {
      if (b != a) nearest = std::min(nearest, length(low - detector.position(detector.source({b, 0, 0}))));
    }
    CHECK(nearest == Approx(60));
    CHECK(length(low) <= detector.radius_m() + 1e-9);
  }
  // 19 sites of a triangular grid form a hexagon with two rings.
  CHECK(detector.radius_m() == Approx(std::hypot(120, 7.25)));
}

TEST_CASE("the modules of a floor are around their string", "[detector]") {
  const Detector detector(HitsSettings{});
  const Vector3 a = detector.position(detector.source({0, 2, 0}));
  const Vector3 b = detector.position(detector.source({0, 2, 1}));
  CHECK(length(a) == Approx(1));
  CHECK(length(a - b) == Approx(std::sqrt(3.0)));
}

TEST_CASE("settings that make no detector are refused with the key's name", "[detector]") {
  CHECK(Detector::check(HitsSettings{}).empty());
  const auto why = [](auto change) {
    HitsSettings settings;
    change(settings);
    return Detector::check(settings);
  };
  CHECK(why([](auto& s) { s.strings = 0; }).find("strings") == 0);
  CHECK(why([](auto& s) { s.floors_per_string = 1'000'000; }).find("floors_per_string") == 0);
  CHECK(why([](auto& s) { s.modules_per_floor = 65; }).find("modules_per_floor") == 0);
  CHECK(why([](auto& s) { s.burst_fraction = 0.6; }).find("burst_fraction") == 0);
  CHECK(why([](auto& s) { s.background_hz = -1; }).find("background_hz") == 0);
  CHECK(why([](auto& s) { s.attenuation_m = std::nan(""); }).find("attenuation_m") == 0);
  CHECK(why([](auto& s) { s.first_source = SourceId(UINT32_MAX - 3); }).find("first_source") == 0);
  CHECK(why([](auto& s) { s.window_ns = 0; }).find("window_ns") == 0);
}
