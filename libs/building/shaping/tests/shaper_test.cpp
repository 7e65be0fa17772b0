#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/shaping/shaper.hpp>

#include <string>
#include <vector>

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

bool goes(Shaper& shaper, const Demand& demand, TimeNs now_ns = 0) {
  return shaper.try_take(demand, now_ns) == Credit::granted;
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

TEST_CASE("without a shaper all requests leave immediately") {
  auto none = shaper("none");
  for (int i = 0; i < 1000; ++i) CHECK(goes(*none, {0, 100, 1U << 20}));
  CHECK(none->outstanding() == 0);
  CHECK(none->piece_bytes() == 0);
}

TEST_CASE("fragment credits are taken by requests and given back one by one") {
  auto window = shaper("fragment-credits", 8);
  CHECK(goes(*window, {0, 5, 0}));
  CHECK(window->try_take({1, 4, 0}, 0) == Credit::full);
  CHECK(goes(*window, {1, 3, 0}));
  CHECK(window->outstanding() == 8);
  CHECK_FALSE(goes(*window, {2, 1, 0}));
  window->answered(0, 1, 0, 1);
  CHECK(window->outstanding() == 7);
  CHECK(goes(*window, {2, 1, 0}));
}

TEST_CASE("byte credits return as bytes arrive, not only with the last one of a fragment") {
  auto window = shaper("byte-credits", 0, 1000);
  CHECK(goes(*window, {0, 1, 900}));
  CHECK_FALSE(goes(*window, {1, 1, 500}));
  window->arrived(0, 400, 1);
  CHECK(window->outstanding() == 500);
  CHECK(goes(*window, {1, 1, 500}, 1));
  window->arrived(0, 500, 2);
  window->answered(0, 1, 0, 2);
  CHECK(window->outstanding() == 500);
}

TEST_CASE("a fragment smaller than expected returns the rest with its answer") {
  auto window = shaper("byte-credits", 0, 1000);
  CHECK(goes(*window, {0, 2, 800}));
  window->arrived(0, 100, 1);
  window->answered(0, 1, 300, 1);
  CHECK(window->outstanding() == 400);
  window->answered(0, 1, 0, 1);  // the last one of this readout: nothing of it remains
  CHECK(window->outstanding() == 0);
}

TEST_CASE("one slow readout holds half of the window at most, and the others continue") {
  auto window = shaper("byte-credits", 0, 1000);
  CHECK(goes(*window, {0, 1, 500}));
  CHECK(window->try_take({0, 1, 100}, 0) == Credit::readout_full);
  CHECK(goes(*window, {1, 1, 500}));
  CHECK(window->try_take({2, 1, 100}, 0) == Credit::full);
}

TEST_CASE("a divided window gives every sending readout an equal part") {
  auto window = shaper("diatcp", 0, 1000);
  CHECK(goes(*window, {0, 1, 200}));
  CHECK(goes(*window, {1, 1, 200}));
  CHECK(goes(*window, {0, 1, 300}));
  CHECK(window->try_take({0, 1, 100}, 0) == Credit::readout_full);
  CHECK(goes(*window, {1, 1, 200}));
  window->arrived(1, 400, 1);
  window->answered(1, 2, 0, 1);
  CHECK(goes(*window, {0, 1, 400}, 1));  // alone again: the whole window
}

TEST_CASE("pieces of a window fill whole segments, and a fixed range has priority") {
  auto window = shaper("byte-credits", 0, 72U << 10U);
  CHECK(window->piece_bytes() % 1448 == 0);
  CHECK(window->piece_bytes() * 4 <= 72U << 10U);
  ShaperSettings settings;
  settings.range_bytes = 5000;
  CHECK((*make_shaper("byte-credits", settings))->piece_bytes() == 5000);
}

TEST_CASE("a leaky bucket lets its burst go, then its rate, and says when it has room again") {
  ShaperSettings settings;
  settings.readouts = 2;
  settings.bytes_per_s = 1'000'000;  // a byte per microsecond
  settings.burst_bytes = 1000;
  auto paced = *make_shaper("paced", settings);
  CHECK(goes(*paced, {0, 1, 1500}, 0));
  CHECK(paced->try_take({1, 1, 100}, 0) == Credit::full);
  CHECK(paced->next_ns() == 500 * kMicrosecond);
  CHECK_FALSE(goes(*paced, {1, 1, 100}, 499 * kMicrosecond));
  CHECK(goes(*paced, {1, 1, 100}, 500 * kMicrosecond));
  std::uint64_t sent = 0;
  for (TimeNs now = kMillisecond; now < kSecond; now += 10 * kMicrosecond) {
    if (goes(*paced, {0, 1, 100}, now)) sent += 100;
  }
  CHECK(sent <= 1'001'000);
  CHECK(sent >= 998'000);
}

TEST_CASE("pacing per pair leaves each readout its part, whatever the others do") {
  ShaperSettings settings;
  settings.readouts = 4;
  settings.bytes_per_s = 4'000'000;
  settings.burst_bytes = 400;
  settings.pace_pairs = true;
  auto paced = *make_shaper("paced", settings);
  CHECK(goes(*paced, {0, 1, 1100}, 0));
  CHECK(paced->try_take({0, 1, 100}, 0) == Credit::readout_full);
  CHECK(goes(*paced, {1, 1, 100}, 0));
  CHECK_FALSE(goes(*paced, {0, 1, 100}, 999 * kMicrosecond));
  CHECK(goes(*paced, {0, 1, 100}, kMillisecond));
}

TEST_CASE("demands of unknown size do not fill more than the window either") {
  auto window = shaper("byte-credits", 0, 1600);
  std::uint32_t taken = 0;
  while (taken < 100 && goes(*window, {taken % kReadouts, 10, 0})) ++taken;
  CHECK(taken == 16);
  for (std::uint32_t i = 0; i < taken; ++i) window->answered(i % kReadouts, 10, 0, 1);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("a demand larger than the window is sent alone, so that nothing waits forever") {
  const std::string name = GENERATE("fragment-credits", "byte-credits", "diatcp");
  auto window = shaper(name, 8, 1000);
  CHECK(goes(*window, {0, 1, 100}));
  CHECK_FALSE(goes(*window, {1, 20, 5000}));
  window->answered(0, 1, 0, 1);
  CHECK(goes(*window, {1, 20, 5000}, 2));
  CHECK_FALSE(goes(*window, {2, 1, 1}, 3));
  window->answered(1, 20, 0, 4);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("a strict quota grants no demand beyond it, and says how many fragments are left") {
  ShaperSettings settings;
  settings.readouts = kReadouts;
  settings.window_fragments = 8;
  settings.window_strict = true;
  auto window = *make_shaper("fragment-credits", settings);
  CHECK(window->strict());
  CHECK(window->fragments_max() == 8);
  CHECK(window->try_take({0, 9, 0}, 0) == Credit::full);
  CHECK(goes(*window, {0, 5, 0}));
  CHECK(window->fragments_max() == 3);
  CHECK(goes(*window, {1, 3, 0}));
  CHECK(window->fragments_max() == 1);
  CHECK_FALSE(goes(*window, {2, 1, 0}));
  window->answered(0, 2, 0, 1);
  CHECK(window->fragments_max() == 2);
  CHECK_FALSE(shaper("fragment-credits")->strict());
}

TEST_CASE("a quota that a demand exceeds says so while anything else is outstanding") {
  auto window = shaper("fragment-credits", 4);
  CHECK(window->fragments_max() == UINT32_MAX);
  CHECK(goes(*window, {0, 1, 0}));
  CHECK(window->fragments_max() == 4);
  CHECK_FALSE(goes(*window, {1, 5, 0}));
  window->answered(0, 1, 0, 1);
  CHECK(window->fragments_max() == UINT32_MAX);
  CHECK(goes(*window, {1, 5, 0}));
}

TEST_CASE("requests that bypass the window are counted in it") {
  auto window = shaper("fragment-credits", 4);
  CHECK(goes(*window, {0, 4, 0}));
  window->take({1, 2, 0}, 0);
  CHECK(window->outstanding() == 6);
  window->answered(0, 2, 0, 1);
  CHECK_FALSE(goes(*window, {2, 1, 0}, 2));
  window->answered(1, 1, 0, 3);
  CHECK(goes(*window, {2, 1, 0}, 4));
}

TEST_CASE("a lost readout's credits return immediately, and its late answers return none") {
  const std::string name = GENERATE("fragment-credits", "byte-credits", "adaptive", "diatcp");
  auto window = shaper(name, 8, 1000);
  CHECK(goes(*window, {0, 4, 400}));
  CHECK(goes(*window, {1, 4, 400}));
  const std::uint64_t both = window->outstanding();
  window->readout_lost(0);
  CHECK(window->outstanding() == both / 2);
  window->answered(0, 2, 100, 1);
  window->arrived(0, 100, 1);
  CHECK(window->outstanding() == both / 2);
  window->answered(1, 4, 0, 2);
  CHECK(window->outstanding() == 0);
}

TEST_CASE("credits are conserved: the window is kept under random answers, and all answers empty it") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 9)));
  const bool bytes = seed % 2 == 0;
  CAPTURE(seed);
  constexpr std::uint64_t kWindow = 300;
  auto window = shaper(bytes ? "byte-credits" : "fragment-credits", kWindow, kWindow);
  Random random(seed);
  struct Owed {
    std::uint32_t fragments = 0;
    std::uint64_t charge = 0;
  };
  std::vector<Owed> owed(kReadouts);
  const auto sum = [&] {
    std::uint64_t all = 0;
    for (const Owed& one : owed) all += one.charge;
    return all;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto readout = static_cast<std::uint32_t>(random.below(kReadouts));
    Owed& of = owed[readout];
    if (random.below(3) == 0) {
      Demand demand{readout, static_cast<std::uint32_t>(1 + random.below(20)), 1 + random.below(80)};
      if (random.below(200) == 0) demand.fragments = 500, demand.bytes = 500;  // larger than the window
      const std::uint64_t charge = bytes ? demand.bytes : demand.fragments;
      const bool fits = sum() == 0 || sum() + charge <= kWindow;
      const bool share = !bytes || of.charge == 0 || of.charge + charge <= kWindow / 2;
      REQUIRE(goes(*window, demand, i) == (fits && share));
      if (fits && share) of.fragments += demand.fragments, of.charge += charge;
    } else if (random.below(300) == 0) {
      window->readout_lost(readout);
      of = {};
    } else if (of.fragments > 0) {
      const std::uint64_t part = bytes ? random.below(of.charge + 1) : 1;
      if (bytes) window->arrived(readout, part, i);
      window->answered(readout, 1, 0, i);
      of.charge -= part;
      if (--of.fragments == 0) of.charge = 0;
    }
    REQUIRE(window->outstanding() == sum());
  }
  for (std::uint32_t readout = 0; readout < kReadouts; ++readout)
    window->answered(readout, owed[readout].fragments, 0, 0);
  CHECK(window->outstanding() == 0);
}

}  // namespace weir::shaping
