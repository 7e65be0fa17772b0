#include "weir_catch.hpp"
#include <weir/assignment/trigger_source.hpp>

#include <cmath>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr UtcNs kUtc = 1'700'000'000'000'000'000;

TriggerSettings mode(std::string name) {
  TriggerSettings settings;
  settings.mode = std::move(name);
  return settings;
}

std::vector<TriggerOffer> due(TriggerSource& source, const Now& now) {
  std::vector<TriggerOffer> offers;
  TriggerOffer offer;
  while (source.next(now, offer)) offers.push_back(offer);
  return offers;
}

}  // namespace

TEST_CASE("rate triggers come at their time, stamped with it, and do not drift") {
  TriggerSettings settings = mode("rate");
  settings.rate_hz = 3;
  const auto source = make_trigger_source(settings).value();
  source->start({100, kUtc});
  CHECK(due(*source, {99, kUtc}).empty());
  CHECK(due(*source, {100, kUtc}).size() == 1);
  CHECK(source->next_due({100, kUtc}) == 100 + 333'333'333);
  const auto offers = due(*source, {100 + 700'000'000, kUtc + 700'000'000});
  REQUIRE(offers.size() == 2);
  CHECK(offers[0].info.time == kUtc + 333'333'333);
  CHECK(offers[1].info.time == kUtc + 666'666'666);
  CHECK(due(*source, {100 + 3000 * kSecond, kUtc}).size() == 9000 - 3 + 1);
}

TEST_CASE("after a stall a source gives up, in one count, what fell due more than a second ago") {
  TriggerSettings settings = mode("rate");
  settings.rate_hz = 1000;
  const auto rate = make_trigger_source(settings).value();
  rate->start({0, kUtc});
  CHECK(due(*rate, {0, kUtc}).size() == 1);
  const Now later{60 * kSecond, kUtc + 60 * kSecond};
  const std::uint64_t skipped = rate->skip_overdue(later);
  CHECK(skipped == 59'000 - 1);
  CHECK(rate->skip_overdue(later) == 0);
  CHECK(due(*rate, later).size() == 1001);

  settings = mode("clock");
  settings.slice_ns = 10 * kMillisecond;
  const auto clock = make_trigger_source(settings).value();
  clock->start({0, kUtc});
  CHECK(clock->skip_overdue(later) == 5900);
  const auto offers = due(*clock, later);
  CHECK(offers.size() == 101);
  CHECK(offers.front().slice == SliceId(5900));
}

TEST_CASE("after a restart clock slices follow the time at which the run began, and no id is repeated") {
  TriggerSettings settings = mode("clock");
  settings.slice_ns = 10 * kMillisecond;
  settings.first_slice = SliceId(7);
  const Now begun{50, kUtc + 3 * kMillisecond};
  const auto first = make_trigger_source(settings).value();
  first->start(begun);
  const auto before = due(*first, {50 + kSecond, begun.utc + kSecond});
  REQUIRE(before.size() == 100);

  // Another process, three seconds later, with a different monotonic clock.
  const Now later{9000, begun.utc + 4 * kSecond};
  const auto second = make_trigger_source(settings).value();
  second->start(later);
  second->resume(before.size(), {later.mono - 4 * kSecond, begun.utc});
  const std::uint64_t missed = second->skip_overdue(later);
  const auto after = due(*second, later);
  CHECK(before.size() + missed + after.size() == 400);
  REQUIRE_FALSE(after.empty());
  CHECK(after.front().slice->value == before.back().slice->value + missed + 1);
  for (const TriggerOffer& offer : after) {
    const auto period = static_cast<UtcNs>(offer.slice->value - before.front().slice->value);
    CHECK(offer.info.time == before.front().info.time + period * settings.slice_ns);
  }
}

TEST_CASE(
    "after a restart triggers at a rate that fell due meanwhile are overdue, and none is offered twice") {
  for (const char* name : {"rate", "poisson"}) {
    CAPTURE(name);
    TriggerSettings settings = mode(name);
    settings.rate_hz = 1000;
    const auto source = make_trigger_source(settings).value();
    const Now later{7 * kSecond, kUtc + 60 * kSecond};
    source->start(later);
    source->resume(20'000, {later.mono - 60 * kSecond, kUtc});
    const auto expected = static_cast<double>(60'000 - 20'000);
    const std::uint64_t missed = source->skip_overdue(later);
    const std::size_t caught_up = due(*source, later).size();
    CHECK_THAT(static_cast<double>(missed + caught_up), Catch::Matchers::WithinRel(expected, 0.01));
    CHECK_THAT(static_cast<double>(caught_up), Catch::Matchers::WithinRel(1000.0, 0.2));
  }
}

TEST_CASE("a clock that was set back between two processes holds up no triggers at a rate") {
  for (const char* name : {"rate", "poisson"}) {
    CAPTURE(name);
    TriggerSettings settings = mode(name);
    settings.rate_hz = 1000;
    const auto source = make_trigger_source(settings).value();
    const Now later{7 * kSecond, kUtc + kSecond};
    source->start(later);
    source->resume(20'000, {later.mono - kSecond, kUtc});
    CHECK(source->skip_overdue(later) == 0);
    CHECK(due(*source, {later.mono + kSecond, later.utc + kSecond}).size() > 800);
  }
}

TEST_CASE("after a stall poisson triggers that fell due more than a second ago are given up in one count") {
  TriggerSettings settings = mode("poisson");
  settings.rate_hz = 1e6;
  const auto source = make_trigger_source(settings).value();
  source->start({0, kUtc});
  const Now later{60 * kSecond, kUtc + 60 * kSecond};
  CHECK_THAT(static_cast<double>(source->skip_overdue(later)), Catch::Matchers::WithinRel(59e6, 0.01));
  CHECK(source->skip_overdue(later) == 0);
  CHECK_THAT(static_cast<double>(due(*source, later).size()), Catch::Matchers::WithinRel(1e6, 0.01));
}

TEST_CASE("poisson triggers are a function of the seed, with the mean and the spread of their rate") {
  const auto times = [](std::uint64_t seed) {
    TriggerSettings settings = mode("poisson");
    settings.rate_hz = 1e6;
    settings.seed = seed;
    const auto source = make_trigger_source(settings).value();
    source->start({0, kUtc});
    std::vector<UtcNs> result;
    for (const TriggerOffer& offer : due(*source, {20 * kMillisecond, kUtc + 20 * kMillisecond})) {
      result.push_back(offer.info.time - kUtc);
    }
    return result;
  };
  const auto first = times(1);
  CHECK(first == times(1));
  CHECK(first != times(2));
  CHECK(std::abs(static_cast<double>(first.size()) - 20'000) < 5 * std::sqrt(20'000));
  std::size_t long_gaps = 0;  // longer than the mean: a share of 1/e
  for (std::size_t i = 1; i < first.size(); ++i) long_gaps += first[i] - first[i - 1] > 1000 ? 1 : 0;
  CHECK(std::abs(static_cast<double>(long_gaps) / static_cast<double>(first.size()) - std::exp(-1)) < 0.02);
}

TEST_CASE("clock slices begin at whole periods of UTC, and their ids count the periods") {
  TriggerSettings settings = mode("clock");
  settings.slice_ns = 10 * kMillisecond;
  settings.first_slice = SliceId(100);
  const auto source = make_trigger_source(settings).value();
  source->start({0, kUtc + 3 * kMillisecond});
  CHECK(source->next_due({0, kUtc + 3 * kMillisecond}) == 7 * kMillisecond);
  CHECK(due(*source, {0, kUtc + 9 * kMillisecond}).empty());
  const auto offers = due(*source, {0, kUtc + 20 * kMillisecond});
  REQUIRE(offers.size() == 2);
  CHECK(offers[0].slice == SliceId(100));
  CHECK(offers[0].info.time == kUtc + 10 * kMillisecond);
  CHECK(offers[0].info.duration == 10 * kMillisecond);
  CHECK(offers[1].slice == SliceId(101));
  CHECK(due(*source, {0, kUtc - kSecond}).empty());  // a clock that was set back repeats no slice
}

TEST_CASE("file triggers are offered as fast as possible, or at the intervals of their times") {
  TriggerSettings settings = mode("file");
  settings.file = parse_trigger_file("3 1000 1 aa\n4 1500\n9 900\n", "x").value();
  const auto fast = make_trigger_source(settings).value();
  fast->start({50, kUtc});
  CHECK(fast->waits_for_room());
  const auto offers = due(*fast, {50, kUtc});
  REQUIRE(offers.size() == 3);
  CHECK(offers[0].slice == SliceId(3));
  CHECK(offers[0].info.type == TriggerType(1));
  CHECK(offers[0].payload.size() == 1);
  CHECK(fast->exhausted());

  settings.file_pace = true;
  const auto paced = make_trigger_source(settings).value();
  paced->start({50, kUtc});
  CHECK_FALSE(paced->waits_for_room());
  CHECK(due(*paced, {549, kUtc}).size() == 1);
  CHECK(paced->next_due({549, kUtc}) == 550);
  CHECK(due(*paced, {550, kUtc}).size() == 2);  // a time before the first one is due immediately
  CHECK(paced->exhausted());
}

TEST_CASE("a trigger mode that does not exist, or lacks its setting, is refused with a sentence") {
  const auto error = [](const TriggerSettings& settings) {
    return make_trigger_source(settings).error().message;
  };
  CHECK(error(mode("fast")) ==
        "trigger: unknown mode 'fast'; there are max, rate, poisson, clock, file, network");
  TriggerSettings settings = mode("rate");
  settings.rate_hz = 0;
  CHECK(error(settings) == "trigger: mode rate needs a rate above 0 and up to 1e8 Hz");
  settings.rate_hz = std::nan("");
  CHECK(error(settings) == "trigger: mode rate needs a rate above 0 and up to 1e8 Hz");
  CHECK(error(mode("clock")) == "trigger: mode clock needs the length of a time slice");
  CHECK(error(mode("file")) == "trigger: mode file needs a file with at least one trigger");
  for (const std::string_view each : trigger_modes()) {
    settings = mode(std::string(each));
    settings.slice_ns = 1;
    settings.file.resize(1);
    CHECK(make_trigger_source(settings).value()->name() == each);
  }
}

TEST_CASE("triggers that are made here have the type of the settings") {
  TriggerSettings settings;
  settings.mode = std::string(GENERATE(as<std::string>{}, "max", "rate", "poisson", "clock"));
  settings.slice_ns = kMillisecond;
  settings.type = TriggerType(7);
  const auto source = make_trigger_source(settings);
  REQUIRE(source);
  (*source)->start({0, 0});
  TriggerOffer offer;
  REQUIRE((*source)->next({kSecond / 2, kSecond / 2}, offer));
  CHECK(offer.info.type == TriggerType(7));
}
