#include "random_traffic.hpp"
#include "weir_catch.hpp"

namespace weir::switching {
namespace {

TEST_CASE("every frame of random traffic is sent in order, dropped for a reason, or held") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    RandomTraffic traffic(seed);
    for (int i = 0; i < 2000; ++i) REQUIRE_NOTHROW(traffic.step());
    REQUIRE_NOTHROW(traffic.drain());
  }
}

}  // namespace
}  // namespace weir::switching
