#include "weir_catch.hpp"
#include <weir/numbering/jump_watch.hpp>

#include <algorithm>
#include <random>
#include <vector>

using namespace weir;
using numbering::JumpWatch;

namespace {

constexpr DurationNs kApart = 120 * kMillisecond;
constexpr UtcNs kUtc = 1'700'000'000 * kSecond;

// Events of one period each. The source sends its own number for an event; the farm announces the events in
// order, `lag` later.
struct Bench {
  explicit Bench(DurationNs event_ns, std::uint64_t farm_lag) : period(event_ns), lag(farm_lag) {
    watch.begin();
  }
  void event(std::uint64_t number, bool sends = true) {
    now += period;
    times.push_back(kUtc + now);
    if (sends) changed(watch.see(SliceId(number), kUtc + now, now));
    if (at >= lag) changed(watch.announced(SliceId(at - lag), times[at - lag]));
    ++at;
  }
  void changed(bool one) { changes += one ? 1 : 0; }

  JumpWatch watch{kApart};
  DurationNs period;
  std::uint64_t lag;
  TimeNs now = 0;
  std::uint64_t at = 0;
  std::vector<UtcNs> times;
  int changes = 0;
};

}  // namespace

TEST_CASE(
    "a counter that jumps far ahead is named within 100 slices or a second, and again when it returns") {
  const std::uint64_t lag = GENERATE(0, 3, 50);
  const std::uint64_t jump = GENERATE(std::uint64_t{1000}, std::uint64_t{1} << 20U, std::uint64_t{1} << 40U);
  Bench bench(10 * kMillisecond, lag);
  for (int i = 0; i < 500; ++i) bench.event(bench.at);
  CHECK(bench.changes == 0);
  for (std::uint64_t i = 0; i < 100; ++i) bench.event(bench.at + jump);
  CHECK(bench.watch.state() == numbering::Jump{-static_cast<std::int64_t>(jump), SliceId(500)});
  for (std::uint64_t i = 0; i < 100; ++i) bench.event(bench.at);
  CHECK(bench.watch.state() == numbering::Jump{});
  CHECK(bench.changes == 2);
}

TEST_CASE("a counter that begins again is named by the difference to its earlier numbers") {
  Bench bench(5 * kMillisecond, 2);
  for (int i = 0; i < 5000; ++i) bench.event(bench.at);
  for (std::uint64_t i = 0; i < 150; ++i) bench.event(i);
  CHECK(bench.watch.state() == numbering::Jump{5000, SliceId(5000)});
  CHECK(bench.changes == 1);
  JumpWatch next(kApart);
  next.begin();
  next.recall(bench.watch.state());
  CHECK_FALSE(next.see(SliceId(150), kUtc, 0));
  CHECK(next.state() == bench.watch.state());
}

TEST_CASE("losses, damaged numbers and fragments that are sent again are not taken for jumps") {
  Bench bench(kMillisecond, GENERATE(0, 5, 2000));
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto dice = random() % 1000;
    if (dice == 0) {
      for (std::uint64_t lost = 32 + random() % 500; lost > 0; --lost) bench.event(0, false);
    } else if (dice < 20) {
      bench.event(bench.at ^ (1ULL << (random() % 40)));
    } else {
      bench.event(bench.at);
    }
    if (dice != 999) continue;
    // It sends 3000 fragments again, four times as fast as new ones.
    const std::uint64_t begin = bench.at - std::min<std::uint64_t>(bench.at, 3000);
    for (std::uint64_t again = begin; again < bench.at; again += 4) {
      for (std::uint64_t k = 0; k < 4; ++k)
        bench.changed(bench.watch.see(SliceId(again + k), kUtc + bench.now, bench.now));
      bench.event(0, false);
    }
  }
  CHECK(bench.changes == 0);
}

TEST_CASE("a farm that stands still, and then catches up after a loss, raises no alarm") {
  Bench bench(kMillisecond, 0);
  for (int i = 0; i < 100; ++i) bench.event(bench.at);
  // The supervisor is away for two seconds; the source loses 700 fragments meanwhile.
  std::vector<UtcNs> times;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    bench.now += kMillisecond;
    times.push_back(kUtc + bench.now);
    if (i < 300 || i >= 1000) bench.changed(bench.watch.see(SliceId(100 + i), kUtc + bench.now, bench.now));
  }
  for (std::uint64_t i = 0; i < times.size(); ++i)
    bench.changed(bench.watch.announced(SliceId(100 + i), times[i]));
  CHECK(bench.changes == 0);
}

TEST_CASE("a counter that begins again with its readout is named by the farm's numbers") {
  Bench bench(5 * kMillisecond, 2);
  bench.watch.begin(SliceId(5000));
  bench.at = 5000;
  bench.times.resize(5000);
  for (std::uint64_t i = 0; i < 300; ++i) bench.event(i);
  CHECK(bench.changes == 1);
  CHECK(bench.watch.state() == numbering::Jump{5000, SliceId(5000)});
}

TEST_CASE("a source that joins a run with late data, or behind it, is in step") {
  const std::uint64_t late = GENERATE(0, 5, 60);
  const std::uint64_t ahead = GENERATE(0, 400);
  Bench bench(10 * kMillisecond, 3);
  bench.watch.begin(SliceId(1000));
  bench.at = 1000 + ahead;
  bench.times.resize(bench.at);
  for (int i = 0; i < 600; ++i) bench.event(bench.at - late);
  CHECK(bench.changes == 0);
  CHECK(bench.watch.has_delivered());
}
