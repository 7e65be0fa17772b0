#include "weir_catch.hpp"
#include <weir/fabric/plan.hpp>

namespace weir::fabric {
namespace {

using Catch::ContainsSubstring;

TEST_CASE("the thesis' example fits four pods of switches with 40 ports") {
  const auto plan = plan_of({});
  REQUIRE(plan);
  CHECK(plan->nodes.pods == 4);
  CHECK(plan->nodes.readouts_per_pod == 25);
  CHECK(plan->nodes.racks_per_pod == 7);
  CHECK(plan->spines == 6);
  CHECK(plan->plane_gbit == Approx(280));
  CHECK(plan->planes == 1);
  CHECK(plan->switches() == 10);
  CHECK(plan->price() == Approx(110'000));
  CHECK(plan->rack_units() == Approx(30));
  CHECK_THAT(text_of(*plan), ContainsSubstring("6 (6.5: 6 for the racks' links, 19 for the readouts')") &&
                                 ContainsSubstring("10: 4 leaves, 6 spines"));
}

TEST_CASE("planes follow from the bandwidth, and fewer spines need more of them") {
  CHECK(plan_of({.bandwidth_gbit = 400})->planes == 2);
  const auto thin = plan_of({.pods = 4, .spines = 1, .bandwidth_gbit = 400});
  REQUIRE(thin);
  CHECK(thin->plane_gbit == Approx(53.33).margin(0.01));
  CHECK(thin->planes == 8);
}

TEST_CASE("a network that no leaf can hold is refused") {
  CHECK_THAT(plan_of({.pods = 3}).error(),
             ContainsSubstring("in 3 pods need leaves with more than 40 ports"));
  CHECK_FALSE(plan_of({.readouts = 0}));
  CHECK_FALSE(plan_of({.readouts = 10'000}));
}

TEST_CASE("the lab file has one plane with each node at its leaf") {
  const auto plan = plan_of({.readouts = 6, .racks = 6, .pods = 2, .spines = 2, .scale = 0.005});
  REQUIRE(plan);
  const std::string lab = lab_yaml(*plan);
  CHECK_THAT(lab, ContainsSubstring("leaf_spine: {leaves: 2, spines: 2, link_rate: 50000000bit}"));
  CHECK_THAT(lab, ContainsSubstring("{name: r3, nodes: [readout-3], attached: 2, host_rate: 50000000bit}") &&
                      ContainsSubstring("{name: d2, nodes: [dcm-2], attached: 1,"));
  CHECK(network_yaml(*plan) == "network:\n  port_rate: 10000000000bit\n");
}

}  // namespace
}  // namespace weir::fabric
