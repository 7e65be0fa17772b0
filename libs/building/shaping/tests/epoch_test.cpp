#include "../src/epoch.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {

TEST_CASE("an epoch without time has no rate, and one without answers no quantile") {
  Epoch epoch;
  CHECK(epoch.rate() == 0);
  CHECK(epoch.quantile(0.5) == 0);
  epoch.limited_ns = 2000;
  epoch.bytes = 500;
  CHECK(epoch.rate() == 0.25);
  epoch.begin();
  CHECK(epoch.rate() == 0);
}

TEST_CASE("quantiles are of the answers that were noted, the latest ones where there are too many") {
  Epoch epoch;
  for (std::uint32_t i = 0; i < 101; ++i) epoch.times_us10[epoch.responses++] = 100 - i;
  CHECK(epoch.quantile(0) == 0);
  CHECK(epoch.quantile(0.5) == 50 * 100);
  CHECK(epoch.quantile(1) == 100 * 100);
  epoch.times_us10.fill(7);
  epoch.responses = 10'000;
  CHECK(epoch.quantile(0.05) == 700);
}

}  // namespace weir::shaping
