#include "random_traffic.hpp"
#include "weir_catch.hpp"

namespace weir::switching {
namespace {

void check_random_traffic(std::uint32_t first, std::uint32_t last) {
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    INFO("seed " << seed);
    RandomTraffic traffic(seed);
    for (int i = 0; i < 2000; ++i) REQUIRE_NOTHROW(traffic.step());
    REQUIRE_NOTHROW(traffic.drain());
  }
}

TEST_CASE("every frame of random traffic is sent in order, dropped for a reason, or held") {
  check_random_traffic(1, 100);
}

// ./switching_test "[nightly]"
TEST_CASE("through the night: more random traffic", "[.][nightly]") { check_random_traffic(101, 50'000); }

}  // namespace
}  // namespace weir::switching
