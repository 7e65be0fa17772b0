#include "../src/switch_bugs.hpp"
#include "random_traffic.hpp"
#include "weir_catch.hpp"

#include <stdexcept>

namespace weir::switching {
namespace {

// Returns the broken promise of the first seed that finds a bug; empty: none does.
std::string found(SwitchBug bug) {
  planted_switch_bug = bug;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    RandomTraffic traffic(seed);
    try {
      for (int i = 0; i < 2000; ++i) traffic.step();
      traffic.drain();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
  return {};
}

TEST_CASE("random traffic finds each planted bug of the switch, and none without one") {
  CHECK(found(SwitchBug::none).empty());
  for (unsigned bug = 1; bug < kSwitchBugs; ++bug) {
    INFO("bug " << bug);
    CHECK_FALSE(found(static_cast<SwitchBug>(bug)).empty());
  }
}

}  // namespace
}  // namespace weir::switching
