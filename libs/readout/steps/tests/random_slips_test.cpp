// Front-ends with jitter, losses, reordering and noise, in step and out of it.
#include "weir_catch.hpp"
#include <weir/steps/step_watch.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace weir;
using namespace weir::steps;

namespace {

constexpr std::uint32_t kSources = 4;
constexpr UtcNs kTolerance = 1000;
constexpr UtcNs kMean = 100'000;  // between triggers

enum class Kind : std::uint8_t { none, miss, twice, restart, bit, early, late };

struct Plan {
  std::uint32_t bits = 32;
  bool times = false;
  Kind kind = Kind::none;
  SourceId source;
  std::uint64_t at = 0;
  std::uint32_t bit = 0;
  std::int64_t by = 1;
};

// Plays slices through a watch, and keeps the slips that it names.
class Detector {
 public:
  Detector(const Plan& plan, std::uint64_t seed, double noise, double lost)
      : plan_(plan), random_(seed), noise_(noise), lost_(lost), watch_(settings(plan), ids()) {
    for (std::uint32_t i = 0; i < kSources; ++i) base_[i] = random_();
  }

  void play(std::uint64_t slices) {
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      times_.push_back((times_.empty() ? 0 : times_.back()) + 5 * kTolerance +
                       static_cast<UtcNs>(random_() % static_cast<std::uint64_t>(2 * kMean)));
      // The slices ahead are known to the front-ends before they are announced.
      if (slice < kAhead) continue;
      const std::uint64_t now = slice - kAhead;
      const bool announced_first = random_() % 2 == 0;
      if (announced_first) announce(now);
      for (std::uint32_t i = 0; i < kSources; ++i) deliver(i, now);
      if (!announced_first) announce(now);
    }
  }

  std::vector<Slipped> slipped;              // of all times
  std::optional<std::uint64_t> first_wrong;  // that arrived, of the plan's source
  std::optional<std::uint64_t> named_at;
  std::uint64_t unmarked = 0;  // fragments behind the slip that fitted, without noise

 private:
  static constexpr std::uint64_t kAhead = 8;
  static WatchSettings settings(const Plan& plan) {
    WatchSettings settings;
    if (plan.times) {
      settings.time_tolerance_ns = kTolerance;
    } else {
      settings.counter_bits = plan.bits;
    }
    return settings;
  }
  static std::vector<SourceId> ids() {
    std::vector<SourceId> all;
    for (std::uint32_t i = 0; i < kSources; ++i) all.emplace_back(i);
    return all;
  }
  bool chance(double share) { return static_cast<double>(random_()) < share * 18446744073709551615.0; }

  void announce(std::uint64_t slice) {
    watch_.announce(SliceId(slice), times_[slice], [](SourceId, SliceId) {});
    look(slice);
  }
  void deliver(std::uint32_t source, std::uint64_t slice) {
    held_[source].push_back(slice);
    // One in eight waits for up to three others.
    if (held_[source].size() < 4 && random_() % 8 == 0) return;
    std::shuffle(held_[source].begin(), held_[source].end(), random_);
    for (const std::uint64_t one : held_[source]) arrive(source, one);
    held_[source].clear();
    look(slice);
  }
  void arrive(std::uint32_t source, std::uint64_t slice) {
    if (chance(lost_)) return;
    const bool wrong = plan_.kind != Kind::none && SourceId(source) == plan_.source && slice >= plan_.at;
    Stamp stamp = stamp_of(source, slice, wrong);
    const bool noise = chance(noise_);
    if (noise) stamp.counter ^= std::uint64_t{1} << random_() % plan_.bits;
    if (noise) stamp.time += static_cast<UtcNs>(random_() % 1'000'000) - 500'000;
    if (wrong && !noise) first_wrong = std::min(first_wrong.value_or(slice), slice);
    const Placed placed = watch_.take(SourceId(source), SliceId(slice), stamp);
    if (wrong && !noise && !plan_.times && placed.fits) ++unmarked;
  }
  Stamp stamp_of(std::uint32_t source, std::uint64_t slice, bool wrong) {
    std::uint64_t counter = base_[source] + slice;
    UtcNs time = times_[slice];
    if (wrong) {
      switch (plan_.kind) {
        case Kind::miss:
          counter -= static_cast<std::uint64_t>(plan_.by);
          break;
        case Kind::twice:
          counter += static_cast<std::uint64_t>(plan_.by);
          break;
        case Kind::restart:
          counter = slice - plan_.at;
          break;
        case Kind::bit:
          counter += std::uint64_t{1} << plan_.bit;
          break;
        case Kind::early:
          time = times_[slice + static_cast<std::uint64_t>(plan_.by)];
          break;
        case Kind::late:
          time = times_[slice - static_cast<std::uint64_t>(plan_.by)];
          break;
        case Kind::none:
          break;
      }
    }
    if (plan_.bits < 64) counter &= (std::uint64_t{1} << plan_.bits) - 1;
    time += static_cast<UtcNs>(random_() % static_cast<std::uint64_t>(2 * kTolerance)) - kTolerance;
    return {!plan_.times, plan_.times, counter, time, 0};
  }
  void look(std::uint64_t slice) {
    if (!watch_.take_news()) return;
    for (const Slipped& one : watch_.slipped()) {
      slipped.push_back(one);
      if (!named_at) named_at = slice;
    }
  }

 public:
  // Returns the plan's slip as the watch sees it.
  [[nodiscard]] std::int64_t expected() const {
    const std::uint64_t before = base_[plan_.source.value] + plan_.at;
    std::uint64_t slip = 0;
    if (plan_.kind == Kind::miss || plan_.kind == Kind::late) slip = static_cast<std::uint64_t>(-plan_.by);
    if (plan_.kind == Kind::twice || plan_.kind == Kind::early) slip = static_cast<std::uint64_t>(plan_.by);
    if (plan_.kind == Kind::restart) slip = 0 - before;
    if (plan_.kind == Kind::bit) slip = std::uint64_t{1} << plan_.bit;
    if (plan_.times) return static_cast<std::int64_t>(slip);
    return static_cast<std::int64_t>(slip << (64 - plan_.bits)) >> (64 - plan_.bits);
  }

 private:
  Plan plan_;
  std::mt19937_64 random_;
  double noise_;
  double lost_;
  StepWatch watch_;
  std::array<std::uint64_t, kSources> base_{};
  std::array<std::vector<std::uint64_t>, kSources> held_;
  std::vector<UtcNs> times_;
};

Plan random_plan(std::mt19937_64& random) {
  Plan plan;
  const std::uint32_t widths[] = {8, 12, 16, 24, 32, 48, 64};
  plan.bits = widths[random() % std::size(widths)];
  plan.kind = static_cast<Kind>(1 + random() % 6);
  plan.times = plan.kind == Kind::early || plan.kind == Kind::late;
  plan.source = SourceId(static_cast<std::uint32_t>(random() % kSources));
  plan.at = 50 + random() % 500;
  plan.bit = static_cast<std::uint32_t>(random() % plan.bits);
  plan.by = 1 + static_cast<std::int64_t>(random() % 3);
  return plan;
}

}  // namespace

TEST_CASE("of 1,000 random slips each is named, with its source, its size and its first slice") {
  std::mt19937_64 random(20260101);
  std::uint64_t longest = 0;
  for (int round = 0; round < 1000; ++round) {
    const Plan plan = random_plan(random);
    Detector detector(plan, random(), 0.01, 0.02);
    if (detector.expected() == 0) continue;  // a restart at the counter's wrap is none
    detector.play(plan.at + 120);
    INFO("round " << round << " kind " << static_cast<int>(plan.kind) << " bits " << plan.bits << " at "
                  << plan.at);
    REQUIRE(detector.named_at);
    REQUIRE(detector.slipped.size() == 1);
    CHECK(detector.slipped[0].source == plan.source);
    CHECK(detector.slipped[0].slip == detector.expected());
    CHECK(detector.slipped[0].since == SliceId(*detector.first_wrong));
    CHECK(detector.slipped[0].by_time == plan.times);
    CHECK(detector.unmarked == 0);
    longest = std::max(longest, *detector.named_at - plan.at);
  }
  CHECK(longest <= 100);
}

TEST_CASE("a million slices with jitter, losses, reordering and noise raise no alarm") {
  for (const bool times : {false, true}) {
    Plan plan;
    plan.bits = 8;
    plan.times = times;
    Detector detector(plan, 7, 0.02, 0.05);
    detector.play(1'000'000);
    CHECK(detector.slipped.empty());
  }
}
