#include "../src/antares_bursts.hpp"

#include "../src/arrival_delays.hpp"
#include "weir_catch.hpp"

namespace weir::bench {

TEST_CASE("of 300 LCMs 15 are in a burst on average, with the sigma of independent bursts") {
  const BurstCount count = count_bursts(300, 10'000);
  CHECK(count.mean == Approx(15).epsilon(0.07));
  CHECK(count.sigma == Approx(3.77).epsilon(0.1));
  std::uint64_t slices = 0;
  for (const auto& [lcms, number] : count.slices) slices += number;
  CHECK(slices == 10'000);
}

TEST_CASE("a fragment's delay is that of its last byte, and of many an even selection is shown") {
  const std::vector<std::string> files = {
      "slice,readout,us,bytes\n7,0,0.000,100\n7,1,500.000,10\n7,0,2000.000,100\n",
      "slice,readout,us,bytes\n8,0,0.000,5\n"};
  CHECK(delays_of(files, 10) == Series{{7, 2}, {7, 0.5}, {8, 0}});
  CHECK(delays_of(files, 2) == Series{{7, 2}, {8, 0}});
}

}  // namespace weir::bench
