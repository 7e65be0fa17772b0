#include "weir_catch.hpp"
#include <weir/steps/step_watch.hpp>

#include <vector>

using namespace weir;
using namespace weir::steps;

namespace {

Stamp counted(std::uint64_t counter) { return {true, false, counter, 0, 0}; }
Stamp timed(UtcNs time) { return {false, true, 0, time, 0}; }
constexpr UtcNs kApart = 1000;

WatchSettings compare(std::uint32_t counter_bits, DurationNs tolerance_ns = 0) {
  WatchSettings settings;
  settings.counter_bits = counter_bits;
  settings.time_tolerance_ns = tolerance_ns;
  return settings;
}

struct Bench {
  explicit Bench(const WatchSettings& settings) : watch(settings, std::vector{SourceId(3), SourceId(4)}) {}
  // The slice and whether it fits: "7 fits", "7 -".
  std::string take(std::uint64_t slice, const Stamp& stamp, std::uint32_t source = 3) {
    const Placed placed = watch.take(SourceId(source), SliceId(slice), stamp);
    return std::to_string(placed.slice.value) + (placed.fits ? " fits" : " -");
  }
  // Returns the sources with misfits in this slice.
  std::vector<std::uint32_t> announce(std::uint64_t slice) {
    std::vector<std::uint32_t> misfits;
    watch.announce(SliceId(slice), static_cast<UtcNs>(slice) * kApart,
                   [&](SourceId source, SliceId) { misfits.push_back(source.value); });
    return misfits;
  }
  StepWatch watch;
};

using Sources = std::vector<std::uint32_t>;
using List = std::vector<Slipped>;

}  // namespace

TEST_CASE("counters that start anywhere and wrap are in step with the slices") {
  Bench bench(compare(8));
  for (std::uint64_t slice = 1000; slice < 3000; ++slice) {
    REQUIRE(bench.take(slice, counted((slice + 77) % 256)) == std::to_string(slice) + " fits");
    REQUIRE(bench.take(slice, counted(slice % 256), 4) == std::to_string(slice) + " fits");
  }
  CHECK(bench.watch.slipped().empty());
  CHECK(bench.watch.compared() == std::vector{SourceId(3), SourceId(4)});
}

TEST_CASE("a slip is marked from its first fragment on, and named with the fifth") {
  Bench bench(compare(16));
  for (std::uint64_t slice = 0; slice < 20; ++slice) (void)bench.take(slice, counted(slice));
  CHECK(bench.watch.take_news());  // it is compared
  for (std::uint64_t slice = 20; slice < 24; ++slice)
    CHECK(bench.take(slice, counted(slice - 1)) == std::to_string(slice) + " -");
  CHECK_FALSE(bench.watch.take_news());
  CHECK(bench.take(24, counted(23)) == "24 -");
  CHECK(bench.watch.take_news());
  CHECK(bench.watch.slipped() == List{{SourceId(3), -1, SliceId(20), false}});
  CHECK(bench.watch.misfits() == 5);
  for (std::uint64_t slice = 25; slice < 30; ++slice) (void)bench.take(slice, counted(slice));
  CHECK(bench.watch.take_news());
  CHECK(bench.watch.slipped().empty());
}

TEST_CASE("single wrong counters are marked and not named") {
  Bench bench(compare(32));
  for (std::uint64_t slice = 0; slice < 400; ++slice) {
    const bool wrong = slice % 4 == 3;
    CHECK(bench.take(slice, counted(wrong ? slice ^ 64U : slice)) ==
          std::to_string(slice) + (wrong ? " -" : " fits"));
  }
  CHECK(bench.watch.slipped().empty());
  CHECK(bench.watch.misfits() == 100);
}

TEST_CASE("a wrong first fragment does not make the others wrong") {
  Bench bench(compare(32));
  (void)bench.take(0, counted(1U << 20U));
  for (std::uint64_t slice = 1; slice < 5; ++slice)
    CHECK(bench.take(slice, counted(slice)) == std::to_string(slice) + " -");
  CHECK(bench.take(5, counted(5)) == "5 fits");
  CHECK(bench.take(6, counted(6)) == "6 fits");
  CHECK(bench.watch.slipped().empty());
}

TEST_CASE("a counter with a correction is compared with the slice's number itself") {
  WatchSettings with_offset = compare(8);
  with_offset.offsets.push_back({SourceId(3), {2, 0}});
  Bench bench(with_offset);
  for (std::uint64_t slice = 0; slice < 10; ++slice) {
    CHECK(bench.take(slice, counted(slice)) == std::to_string(slice) + " -");
    CHECK(bench.take(slice, counted(slice), 4) == std::to_string(slice) + " fits");
  }
  CHECK(bench.watch.slipped() == List{{SourceId(3), 2, SliceId(0), false}});
}

TEST_CASE("times are compared with those of the triggers, whichever comes first") {
  WatchSettings with_offset = compare(0, 100);
  with_offset.offsets.push_back({SourceId(4), {std::nullopt, -50'000}});
  Bench bench(with_offset);
  CHECK(bench.announce(10).empty());
  CHECK(bench.take(10, timed(10 * kApart + 100)) == "10 fits");
  CHECK(bench.take(10, timed(10 * kApart + 50'000), 4) == "10 fits");
  CHECK(bench.take(11, timed(11 * kApart)) == "11 fits");           // not known yet
  CHECK(bench.take(11, timed(11 * kApart + 101), 4) == "11 fits");  // likewise: it has the other's time
  CHECK(bench.announce(11) == Sources{4});
  CHECK(bench.announce(12).empty());
  CHECK(bench.take(12, timed(12 * kApart - 101)) == "12 -");
  CHECK(bench.take(12, timed(INT64_MAX)) == "12 -");
  CHECK(bench.take(12, timed(INT64_MIN), 4) == "12 -");
  CHECK(bench.watch.slipped().empty());
}

TEST_CASE("data with the times of the next or of an earlier trigger are that many slices off") {
  for (const std::int64_t slip : {-3, -1, 1, 2}) {
    Bench bench(compare(0, 100));
    for (std::uint64_t slice = 10; slice < 40; ++slice) {
      const std::int64_t by = slice < 20 ? 0 : slip;
      const UtcNs time = static_cast<UtcNs>(slice) * kApart + by * kApart + (slice % 3 == 0 ? 60 : -60);
      if (slice % 2 == 0) CHECK(bench.take(slice, timed(time)) == std::to_string(slice) + " fits");
      CHECK(bench.announce(slice) == (slice % 2 == 0 && by != 0 ? Sources{3} : Sources{}));
      if (slice % 2 == 1)
        CHECK(bench.take(slice, timed(time)) == std::to_string(slice) + (by == 0 ? " fits" : " -"));
    }
    CHECK(bench.watch.slipped() == List{{SourceId(3), slip, SliceId(20), true}});
    CHECK(bench.watch.misfits() == 20);
  }
}

TEST_CASE("among triggers out of order an earlier one is found behind one that is older still") {
  Bench bench(compare(0, 100));
  const auto time_of = [](std::uint64_t slice) {
    return slice % 10 == 8 ? static_cast<UtcNs>(slice - 8) : static_cast<UtcNs>(slice) * kApart;
  };
  for (std::uint64_t slice = 0; slice < 30; ++slice)
    bench.watch.announce(SliceId(slice), time_of(slice), [](SourceId, SliceId) {});
  // Slice 28's trigger lies between these slices and that of their data.
  for (std::uint64_t slice = 30; slice < 40; ++slice) {
    bench.watch.announce(SliceId(slice), static_cast<UtcNs>(slice) * kApart, [](SourceId, SliceId) {});
    CHECK(bench.take(slice, timed(time_of(slice - 3))) == std::to_string(slice) + " -");
    if (slice == 30) CHECK(bench.watch.slipped().empty());
  }
  const List slipped = bench.watch.slipped();
  REQUIRE(slipped.size() == 1);
  CHECK(slipped[0].slip == -3);
  CHECK(slipped[0].since == SliceId(30));
}

TEST_CASE("a clock that drifts is named without a number of slices") {
  Bench bench(compare(0, 100));
  for (std::uint64_t slice = 10; slice < 60; ++slice) {
    (void)bench.announce(slice);
    const UtcNs drift = slice < 20 ? 0 : static_cast<UtcNs>(slice - 20) * 10;
    CHECK(bench.take(slice, timed(static_cast<UtcNs>(slice) * kApart + drift)) ==
          std::to_string(slice) + (drift <= 100 ? " fits" : " -"));
  }
  CHECK(bench.watch.slipped() == List{{SourceId(3), 0, SliceId(31), true}});
}

TEST_CASE("realigned fragments go to their own slices, and a further slip is seen") {
  Bench bench(compare(16, 100));
  const auto both = [](std::uint64_t own) {
    return Stamp{true, true, own, static_cast<UtcNs>(own) * kApart, 0};
  };
  for (std::uint64_t slice = 10; slice < 100; ++slice) (void)bench.announce(slice);
  for (std::uint64_t slice = 10; slice < 30; ++slice)
    (void)bench.take(slice, both(slice < 20 ? slice : slice + 1));
  CHECK(bench.watch.slipped() == List{{SourceId(3), 1, SliceId(20), false}});
  bench.watch.realign(SourceId(3), 1);
  for (std::uint64_t slice = 30; slice < 40; ++slice)
    CHECK(bench.take(slice, both(slice + 1)) == std::to_string(slice + 1) + " fits");
  CHECK(bench.watch.slipped() == List{{SourceId(3), 1, SliceId(20), false}});
  for (std::uint64_t slice = 40; slice < 50; ++slice)
    CHECK(bench.take(slice, both(slice + 3)) == std::to_string(slice + 1) + " -");
  CHECK(bench.watch.slipped() == List{{SourceId(3), 3, SliceId(40), false}});
  bench.watch.realign(SourceId(3), 0);
  for (std::uint64_t slice = 50; slice < 60; ++slice)
    CHECK(bench.take(slice, both(slice)) == std::to_string(slice) + " fits");
  CHECK(bench.watch.slipped().empty());
}

TEST_CASE("realigned, late data from before the slip stay in their slices") {
  for (const bool by_counter : {false, true}) {
    Bench bench(by_counter ? compare(16) : compare(0, 100));
    const auto stamp = [&](std::uint64_t own) {
      return by_counter ? counted(own) : timed(static_cast<UtcNs>(own) * kApart);
    };
    for (std::uint64_t slice = 10; slice < 60; ++slice) (void)bench.announce(slice);
    for (std::uint64_t slice = 10; slice < 30; ++slice)
      if (slice != 17) (void)bench.take(slice, stamp(slice < 20 ? slice : slice - 1));
    REQUIRE(bench.watch.slipped() == List{{SourceId(3), -1, SliceId(20), !by_counter}});
    bench.watch.realign(SourceId(3), -1);
    CHECK(bench.take(30, stamp(29)) == "29 fits");
    CHECK(bench.take(17, stamp(17)) == "17 fits");
    CHECK(bench.take(31, stamp(30)) == "30 fits");
    CHECK(bench.watch.slipped() == List{{SourceId(3), -1, SliceId(20), !by_counter}});
  }
}

TEST_CASE("by number, the time of data far from the farm's numbers shows where they belong") {
  const std::uint64_t label = GENERATE(std::uint64_t{5'000'000}, std::uint64_t{0});
  const bool announced_first = GENERATE(false, true);
  Bench bench(compare(0, 100));
  for (std::uint64_t event = 1000; event < 1020; ++event) {
    const std::uint64_t number = event < 1010 ? event : label + event - 1010;
    if (announced_first) (void)bench.announce(event);
    (void)bench.take(number, timed(static_cast<UtcNs>(event) * kApart));
    if (!announced_first) CHECK(bench.announce(event).empty());
    if (event < 1014) CHECK(bench.watch.slipped().empty());
  }
  const auto slip = static_cast<std::int64_t>(1010 - label);
  CHECK(bench.watch.slipped() == List{{SourceId(3), slip, SliceId(1010), true}});
  bench.watch.realign(SourceId(3), slip);
  CHECK(bench.take(label + 10, timed(1020 * kApart)) == "1020 fits");
  CHECK(bench.announce(1020).empty());
}

TEST_CASE("data far ahead of the announcements are in step if their slices come") {
  Bench bench(compare(0, 100));
  for (std::uint64_t event = 0; event < 2000; ++event) {
    (void)bench.take(event, timed(static_cast<UtcNs>(event) * kApart));
    // Some slices are vetoed.
    if (event >= 300 && event % 3 != 0) CHECK(bench.announce(event - 300).empty());
  }
  CHECK(bench.watch.slipped().empty());
  CHECK(bench.watch.misfits() == 0);
}

TEST_CASE("a slip that is known from before a restart stays, and its end is seen") {
  Bench bench(compare(16));
  const Slipped known{SourceId(3), -2, SliceId(40), false};
  bench.watch.recall(known);
  for (std::uint64_t slice = 100; slice < 110; ++slice) {
    CHECK(bench.take(slice, counted(slice + 5)) == std::to_string(slice) + " -");
    CHECK(bench.take(slice, counted(slice + 5), 4) == std::to_string(slice) + " fits");
  }
  CHECK(bench.watch.slipped() == List{known});
  bench.watch.recall({SourceId(3), 7, SliceId(40), false});  // it is compared already
  for (std::uint64_t slice = 110; slice < 120; ++slice) (void)bench.take(slice, counted(slice + 7));
  CHECK(bench.watch.slipped().empty());
}

TEST_CASE("without settings, stamps or a known source nothing is compared") {
  Bench none({});
  CHECK(none.take(1, {true, true, 5, 5, 0}) == "1 fits");
  CHECK(none.take(2, {true, true, 5, 5, 0}) == "2 fits");
  CHECK(none.watch.compared().empty());
  Bench bench(compare(8, 1));
  CHECK(bench.take(1, {}) == "1 fits");
  CHECK(bench.take(1, {true, true, 5, 5, 0}, 99) == "1 fits");
  CHECK_FALSE(bench.watch.take_news());
}

TEST_CASE("fragments of slices that are never announced are forgotten at the limit, and counted") {
  Bench bench(compare(0, 1));
  constexpr std::uint64_t kMore = 1000;
  for (std::uint64_t slice = 0; slice < StepWatch::kEarlyMax + kMore; ++slice)
    (void)bench.take(slice, timed(0));
  CHECK(bench.watch.not_compared() == kMore);
  CHECK(bench.announce(kMore - 1).empty());
  CHECK(bench.announce(kMore) == Sources{3});
}
