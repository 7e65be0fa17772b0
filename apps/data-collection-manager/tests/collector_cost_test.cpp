// The cost of collecting per fragment, in farms of any size.
#include "collector_farm.hpp"
#include "weir_catch.hpp"

#include <vector>

namespace weir::dcm {
namespace {

struct Case {
  const char* shaper;
  std::uint64_t window;  // fragments; 0: one per readout
  std::size_t answers;   // per pass
};

double steps_per_fragment(const Case& what, std::uint32_t readouts, std::size_t in_flight,
                          const slice_rows::AbsenceTable& absences = {}) {
  const std::uint64_t window = what.window > 0 ? what.window : readouts;
  CollectorFarm farm(what.shaper, shaping::ReadoutOrder::least_loaded, readouts, window, in_flight);
  farm.collector().set_absences(absences, 0);
  std::size_t slices = 0;
  const auto collect = [&](std::size_t most) {
    slices = 0;
    for (int pass = 0; pass < 2'000'000 && slices < most; ++pass) slices += farm.pass(what.answers);
    REQUIRE(slices >= most);
  };
  collect(4 * in_flight);
  const std::uint64_t before = farm.collector().steps();
  collect(4 * in_flight);
  return static_cast<double>(farm.collector().steps() - before) / static_cast<double>(slices * readouts);
}

// Grants everything, and counts its notifications.
class TellTale final : public shaping::Shaper {
 public:
  struct Told {
    std::uint64_t calls = 0;
    std::uint64_t fragments = 0;
    std::uint64_t bytes = 0;  // that came, and that will not come any more
  };
  explicit TellTale(Told& told) : told_(told) {}

  shaping::Credit try_take(const shaping::Demand& demand, TimeNs now_ns) override {
    take(demand, now_ns);
    return shaping::Credit::granted;
  }
  void take(const shaping::Demand& demand, TimeNs) override { taken_ += demand.bytes; }
  void arrived(std::uint32_t, std::uint64_t bytes, TimeNs) override {
    ++told_.calls;
    told_.bytes += bytes;
  }
  void answered(std::uint32_t, std::uint32_t fragments, std::uint64_t bytes, TimeNs) override {
    ++told_.calls;
    told_.fragments += fragments;
    told_.bytes += bytes;
  }
  void readout_lost(std::uint32_t) override {}
  [[nodiscard]] std::uint64_t outstanding() const override { return taken_ - told_.bytes; }
  [[nodiscard]] std::uint64_t window() const override { return 0; }

 private:
  Told& told_;
  std::uint64_t taken_ = 0;
};

constexpr std::uint16_t kReadouts[] = {4, 16, 64, 256};
constexpr Case kCases[] = {
    {"none", 1, 16}, {"byte-credits", 24, 4}, {"byte-credits", 0, 1}, {"fragment-credits", 8, 2}};

}  // namespace

TEST_CASE("a fragment costs the collector the same however many readouts there are, but for a logarithm") {
  for (const Case& what : kCases) {
    const double few = steps_per_fragment(what, 4, 8);
    for (const std::uint32_t readouts : {16U, 64U, 256U}) {
      const double many = steps_per_fragment(what, readouts, 8);
      CAPTURE(what.shaper, what.window, readouts);
      // The heap is three times as deep at most.
      CHECK(many <= 3 * few);
    }
  }
}

TEST_CASE("a fragment costs the collector the same however many slices are in flight") {
  for (const Case& what : kCases) {
    const double few = steps_per_fragment(what, 16, 8);
    CAPTURE(what.shaper, what.window);
    CHECK(steps_per_fragment(what, 16, 256) <= 1.5 * few);
  }
}

TEST_CASE("a fragment costs the collector no more after absences of readouts, and during them") {
  const Case& what = kCases[0];
  const double without = steps_per_fragment(what, 4, 8);
  for (const std::uint16_t readouts : kReadouts) {
    slice_rows::AbsenceTable absences;
    for (std::uint16_t readout = 0; readout < readouts; ++readout) {
      absences.leave(NodeIndex(readout), SliceOrder(0));
      absences.join(NodeIndex(readout), SliceOrder(1));
      if (readout % 2 == 1) absences.leave(NodeIndex(readout), SliceOrder(1));
    }
    CAPTURE(readouts);
    CHECK(steps_per_fragment(what, readouts, 8, absences) <= 3 * without);
  }
}

TEST_CASE("pushed fragments cost no walk over lost readouts if none is given up") {
  CollectorFarm farm("none", shaping::ReadoutOrder::least_loaded, 256, 1, 8);
  for (const bool lost : {false, true}) {
    farm.collector().set_lost(7, lost);
    const std::uint64_t before = farm.collector().steps();
    for (int slice = 0; slice < 3; ++slice) farm.expect_pushed();
    CAPTURE(lost);
    CHECK(farm.collector().steps() - before <= 3);
  }
}

TEST_CASE("losing and regaining all readouts costs a few steps for each fragment that is outstanding") {
  struct Size {
    std::uint32_t readouts;
    std::uint32_t sources;  // of each readout
    std::size_t slices;
  };
  for (const Size size : {Size{64, 1, 16}, {256, 8, 16}, {64, 32, 64}, {32, 8, 256}}) {
    const std::uint32_t readouts = size.readouts;
    const std::uint32_t sources = size.sources;
    const std::size_t slices = size.slices;
    CAPTURE(readouts, sources, slices);
    CollectorFarm farm("none", shaping::ReadoutOrder::least_loaded, readouts, 1, slices, sources);
    Collector& collector = farm.collector();
    for (std::size_t pass = 0; pass < 2; ++pass) (void)farm.pass(0);
    const std::uint64_t fragments = std::uint64_t{readouts} * sources * slices;
    const auto cost = [&](auto event) {
      const std::uint64_t before = collector.steps();
      event();
      return collector.steps() - before;
    };
    const auto each = [&](auto event) {
      for (std::uint32_t readout = 0; readout < readouts; ++readout) event(readout);
    };
    const auto lose = [&] { each([&](std::uint32_t readout) { collector.readout_down(readout); }); };
    const auto regain = [&] { each([&](std::uint32_t readout) { collector.readout_up(readout); }); };
    CHECK(cost(lose) <= 2 * fragments);
    CHECK(cost(regain) <= 3 * fragments);
    (void)farm.pass(0);
    // Down again, and the farm has given them up.
    lose();
    each([&](std::uint32_t readout) { collector.set_lost(readout, true); });
    collector.set_verdict(std::vector<bool>(readouts, true), false);
    CHECK(cost([&] { collector.pass(2 * kSecond); }) <= 4 * fragments);
    const auto& missing = farm.assembler().counters().missing;
    CHECK(missing[static_cast<std::size_t>(MissingReason::source_down)] == fragments);
  }
}

TEST_CASE("looking for slices that wait for lost readouts costs no walk over the others' sources") {
  constexpr std::uint32_t kReadouts = 256;
  constexpr std::uint32_t kSources = 32;
  CollectorFarm farm("none", shaping::ReadoutOrder::least_loaded, kReadouts, 1, 16, kSources);
  (void)farm.pass(0);
  Collector& collector = farm.collector();
  collector.readout_down(7);
  collector.set_lost(7, true);
  collector.set_verdict(std::vector<bool>(kReadouts), true);
  const std::uint64_t before = collector.steps();
  CHECK(collector.take_stranded().size() == 16);
  CHECK(collector.steps() - before <= 16 * (kSources + 2));
}

TEST_CASE("a shaper is notified once per pass of a readout's bytes, however many fragments they hold") {
  constexpr std::uint32_t kReadouts = 4;
  TellTale::Told told;
  CollectorFarm farm(std::make_unique<TellTale>(told), shaping::ReadoutOrder::least_loaded, kReadouts, 256);
  for (std::uint64_t pass = 1; pass <= 1000; ++pass) {
    const std::size_t asked = farm.unanswered();
    const std::uint64_t fragments = told.fragments;
    const std::uint64_t calls = told.calls;
    (void)farm.pass(100);
    REQUIRE(told.fragments == fragments + std::min<std::size_t>(asked, 100));
    REQUIRE(told.calls <= calls + 2 * kReadouts);
  }
  CHECK(told.fragments > 90'000);
}

TEST_CASE("a full window is overdrawn now and then if its data does not arrive, and not otherwise") {
  for (const char* shaper : {"byte-credits", "fragment-credits", "diatcp"}) {
    CAPTURE(shaper);
    CollectorFarm farm(shaper, shaping::ReadoutOrder::least_loaded, 4, 2, 1000);
    const auto wait = [&](int ms) {
      for (int pass = 0; pass < ms * 10; ++pass) (void)farm.pass(0);
    };
    wait(100);
    const std::size_t full = farm.unanswered();
    REQUIRE(full > 0);
    wait(300);
    CHECK(farm.collector().overdrawn() == 0);
    wait(500);  // below the slices' deadline
    CHECK(farm.collector().overdrawn() == 1);
    CHECK(farm.unanswered() > full);
    const std::uint64_t before = farm.collector().overdrawn();
    for (int pass = 0; pass < 20'000; ++pass) (void)farm.pass(1);
    CHECK(farm.collector().overdrawn() == before);
  }
}

TEST_CASE(
    "a window full of requests without an answer lets twice as many others pass after each standstill") {
  for (const char* shaper : {"byte-credits", "fragment-credits", "diatcp"}) {
    CAPTURE(shaper);
    CollectorFarm farm(shaper, shaping::ReadoutOrder::least_loaded, 4, 2, 1000);
    for (int pass = 0; pass < 1000; ++pass) (void)farm.pass(1);  // it learns the sizes
    farm.park_requests();
    std::uint64_t before = 0;
    for (const std::uint64_t expected : {1U, 2U, 4U, 8U, 16U, 32U}) {
      for (int pass = 0; pass < 5100 && farm.collector().overdrawn() == before; ++pass) (void)farm.pass(1);
      for (int pass = 0; pass < 200; ++pass) {
        (void)farm.pass(1);
        REQUIRE(farm.unanswered() <= 1);
      }
      CHECK(farm.collector().overdrawn() - before == expected);
      before = farm.collector().overdrawn();
    }
  }
}

// When such a request ended the overdraft, a full window let about one other pass per standstill.
TEST_CASE("a short request that fits beside unanswered ones leaves the overdraft as it is") {
  constexpr std::uint32_t kReadouts = 4;
  shaping::ShaperSettings settings;
  settings.readouts = kReadouts;
  constexpr std::uint64_t kShort = CollectorFarm::kShortBytes + wire::kHeaderBytes;
  settings.window_bytes = 2 * (CollectorFarm::kBytes + wire::kHeaderBytes) + kShort;
  CollectorFarm farm(shaping::make_shaper("byte-credits", settings).value(),
                     shaping::ReadoutOrder::least_loaded, kReadouts, 1000);
  farm.shorten(kReadouts - 1);
  const auto has_room = [&] {
    return farm.collector().shaper().outstanding() + kShort <= settings.window_bytes;
  };
  for (int pass = 0; pass < 1000 || !has_room(); ++pass) {  // it learns the sizes
    (void)farm.pass(1);
    REQUIRE(pass < 2000);
  }
  farm.park_requests();
  for (int pass = 0; pass < 80'000; ++pass) (void)farm.pass(1);  // 8 s
  CHECK(farm.collector().overdrawn() > 1000);
}

}  // namespace weir::dcm
