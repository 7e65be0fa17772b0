#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/shaping/shaper.hpp>

#include <deque>
#include <string>

namespace weir::shaping {
namespace {

constexpr std::uint32_t kReadouts = 5;

std::unique_ptr<Shaper> shaper(std::string_view name, std::uint32_t fragments = 8,
                               std::uint64_t bytes = 1000) {
  ShaperSettings settings;
  settings.readouts = kReadouts;
  settings.window_fragments = fragments;
  settings.window_bytes = bytes;
  auto made = make_shaper(name, settings);
  REQUIRE(made.has_value());
  return std::move(*made);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t below(std::uint64_t limit) { return (state_ = mix64(state_)) % limit; }

 private:
  std::uint64_t state_;
};

}  // namespace

TEST_CASE("a shaper that does not exist is an error") {
  const auto made = make_shaper("barrel-of-laughs", {});
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error() == ShapingError::unknown_name);
}

TEST_CASE("without a shaper everything goes at once") {
  auto none = shaper("none");
  for (int i = 0; i < 1000; ++i) CHECK(none->try_take({0, 100, 1U << 20}, 0));
  CHECK(none->outstanding() == 0);
}

TEST_CASE("fragment credits are taken by requests and given back one by one") {
  auto window = shaper("fragment-credits", 8);
  CHECK(window->try_take({0, 5, 0}, 0));
  CHECK_FALSE(window->try_take({1, 4, 0}, 0));
  CHECK(window->try_take({1, 3, 0}, 0));
  CHECK(window->outstanding() == 8);
  CHECK_FALSE(window->try_take({2, 1, 0}, 0));
  window->answered(0, 1);
  CHECK(window->outstanding() == 7);
  CHECK(window->try_take({2, 1, 0}, 2));
}

TEST_CASE("byte credits count what is expected, and an answer gives back its share") {
  auto window = shaper("byte-credits", 0, 1000);
  CHECK(window->try_take({0, 4, 600}, 0));
  CHECK_FALSE(window->try_take({1, 1, 500}, 0));
  window->answered(0, 1);
  CHECK(window->outstanding() == 450);
  CHECK(window->try_take({1, 1, 500}, 2));
  for (int i = 0; i < 3; ++i) window->answered(0, 3);
  CHECK(window->outstanding() == 500);
}

TEST_CASE("demands of unknown size do not fill more than the window either") {
  auto window = shaper("byte-credits", 0, 1600);
  std::uint64_t taken = 0;
  while (taken < 100 && window->try_take({0, 10, 0}, 0)) ++taken;
  CHECK(taken == 16);
  for (std::uint64_t i = 0; i < 10 * taken; ++i) window->answered(0, 1);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("a demand larger than the window goes alone, so that nothing waits for ever") {
  const std::string name = GENERATE("fragment-credits", "byte-credits");
  auto window = shaper(name, 8, 1000);
  CHECK(window->try_take({0, 1, 100}, 0));
  CHECK_FALSE(window->try_take({1, 20, 5000}, 0));
  window->answered(0, 1);
  CHECK(window->try_take({1, 20, 5000}, 2));
  CHECK_FALSE(window->try_take({2, 1, 1}, 3));
  for (int i = 0; i < 20; ++i) window->answered(1, 4);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("what goes whatever the window says is counted in it") {
  auto window = shaper("fragment-credits", 4);
  CHECK(window->try_take({0, 4, 0}, 0));
  window->take({1, 2, 0});
  CHECK(window->outstanding() == 6);
  window->answered(0, 1);
  window->answered(0, 1);
  CHECK_FALSE(window->try_take({2, 1, 0}, 2));
  window->answered(1, 3);
  CHECK(window->try_take({2, 1, 0}, 4));
}

TEST_CASE("a lost readout's credits come back at once, and its late answers give none") {
  const std::string name = GENERATE("fragment-credits", "byte-credits");
  auto window = shaper(name, 8, 1000);
  CHECK(window->try_take({0, 4, 400}, 0));
  CHECK(window->try_take({1, 4, 400}, 0));
  const std::uint64_t both = window->outstanding();
  window->readout_lost(0);
  CHECK(window->outstanding() == both / 2);
  window->answered(0, 1);
  window->answered(0, 1);
  CHECK(window->outstanding() == both / 2);
  for (int i = 0; i < 4; ++i) window->answered(1, 2);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("credits are conserved: the window is kept whatever comes, and all answers empty it") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 9)));
  const bool bytes = seed % 2 == 0;
  CAPTURE(seed);
  constexpr std::uint64_t kWindow = 300;
  auto window = shaper(bytes ? "byte-credits" : "fragment-credits", kWindow, kWindow);
  Random random(seed);
  std::uint64_t fragments_out[kReadouts] = {};
  std::uint64_t charge_out[kReadouts] = {};
  const auto charge_sum = [&] {
    std::uint64_t sum = 0;
    for (const std::uint64_t charge : charge_out) sum += charge;
    return sum;
  };

  for (int i = 0; i < 20'000; ++i) {
    const auto readout = static_cast<std::uint32_t>(random.below(kReadouts));
    const std::uint64_t before = window->outstanding();
    if (random.below(3) == 0) {
      Demand demand{readout, static_cast<std::uint32_t>(1 + random.below(20)), 1 + random.below(80)};
      if (random.below(200) == 0) demand.fragments = 500, demand.bytes = 500;  // larger than the window
      const std::uint64_t charge = bytes ? demand.bytes : demand.fragments;
      const bool goes = window->try_take(demand, i);
      REQUIRE(goes == (before == 0 || before + charge <= kWindow));
      REQUIRE(window->outstanding() == before + (goes ? charge : 0));
      if (goes) fragments_out[readout] += demand.fragments, charge_out[readout] += charge;
    } else if (random.below(300) == 0) {
      window->readout_lost(readout);
      fragments_out[readout] = charge_out[readout] = 0;
    } else {
      window->answered(readout, i);
      REQUIRE(window->outstanding() <= before);
      charge_out[readout] -= before - window->outstanding();
      if (fragments_out[readout] > 0) --fragments_out[readout];
      if (fragments_out[readout] == 0) REQUIRE(charge_out[readout] == 0);
    }
    REQUIRE(window->outstanding() == charge_sum());
  }

  for (std::uint32_t readout = 0; readout < kReadouts; ++readout) {
    while (fragments_out[readout]-- > 0) window->answered(readout, 0);
  }
  CHECK(window->outstanding() == 0);
}

}  // namespace weir::shaping
