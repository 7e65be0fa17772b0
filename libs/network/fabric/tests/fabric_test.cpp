#include "weir_catch.hpp"
#include <weir/fabric/fabric.hpp>

namespace weir::fabric {
namespace {

// Figure 6.4: 100 readouts and 28 racks in four pods, 10 Gb/s.
constexpr Nodes kThesis{25, 7, 4, 10};

TEST_CASE("the thesis' example needs 6 spines for its racks and 19 for its readouts") {
  CHECK(spines_for_racks(kThesis) == 6);         // 5.25
  CHECK(spines_for_readouts(kThesis) == 19);     // 18.75
  CHECK(spines_for_racks({25, 8, 4, 10}) == 6);  // 6 exactly
  CHECK(spines_for_racks({25, 7, 1, 10}) == 0);
}

TEST_CASE("a plane of the thesis' example carries 53.3, 266.7 and 280 Gb/s with 1, 5 and 6 spines") {
  CHECK(plane_bandwidth_gbit(kThesis, 1) == Approx(53.33).margin(0.01));
  CHECK(plane_bandwidth_gbit(kThesis, 5) == Approx(266.67).margin(0.01));
  CHECK(plane_bandwidth_gbit(kThesis, 6) == Approx(280));
  CHECK(plane_bandwidth_gbit(kThesis, 30) == Approx(280));  // the racks' links
  CHECK(planes_for(280, kThesis, 6) == 1);
  CHECK(planes_for(281, kThesis, 6) == 2);
  CHECK(planes_for(400, kThesis, 1) == 8);
}

TEST_CASE("the prototype of figure 6.7 carries 40 Gb/s with a spine in its plane, and 60 with two") {
  constexpr Nodes kPrototype{3, 3, 2, 10};
  CHECK(plane_bandwidth_gbit(kPrototype, 1) == Approx(40));
  CHECK(plane_bandwidth_gbit(kPrototype, 2) == Approx(60));
}

TEST_CASE("a single pod has no flow over a spine") {
  CHECK(plane_bandwidth_gbit({25, 7, 1, 10}, 0) == Approx(70));
}

TEST_CASE("switches are counted plane after plane, with each full plane's leaves") {
  const SwitchKind kind;  // 40 ports
  const Servers one = servers_for(128, 6, kind);
  CHECK(one.full_planes == 0);
  CHECK(one.leaves_of_last == 4);  // 34 ports each
  CHECK(one.all() == 10);
  const Servers two = servers_for(2 * 40 * 34 + 1, 6, kind);
  CHECK(two.full_planes == 2);
  CHECK(two.leaves_of_last == 1);
  CHECK(two.all() == 2 * (40 + 6) + 1 + 6);  // 6.10 as printed has 1 + 6 * 3 + 40
  const Servers full = servers_for(40 * 34, 6, kind);
  CHECK(full.planes() == 1);
  CHECK(full.all() == 46);
}

TEST_CASE("the reference router is bought by chassis of 768 ports and modules of 24") {
  const ReferenceRouter small = reference_router(24);
  CHECK(small.price == Approx(98'698 + 51'948));
  const ReferenceRouter large = reference_router(769);
  CHECK(large.chassis == 2);
  CHECK(large.modules == 33);
  CHECK(large.price == Approx(2 * 98'698 + 33 * 51'948 + (33 - 14) * 7'399));
}

}  // namespace
}  // namespace weir::fabric
