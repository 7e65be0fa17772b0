#include "../src/losses.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr DurationNs kWithin = 20 * kMillisecond;
constexpr double kCame = 2000;  // segments that arrived in that time
constexpr TimeNs kNow = 10 * kSecond;

constexpr double kTrialWindow = 72'000;
constexpr double kRate = 0.1;  // bytes per ns
constexpr TimeNs kFrom = kSecond;
constexpr DurationNs kTrialEpoch = 10 * kMillisecond;

// Runs epochs at this share of the rate until the trial is decided. Returns their number; 100: never decided.
int epochs_until_decided(LossTrial& trial, double share, DurationNs least_ns) {
  const auto bytes = static_cast<std::uint64_t>(share * kRate * static_cast<double>(kTrialEpoch));
  for (int epoch = 1; epoch < 100; ++epoch) {
    if (trial.note(bytes, kTrialEpoch, least_ns, kFrom + epoch * kTrialEpoch)) return epoch;
  }
  return 100;
}

}  // namespace

TEST_CASE("four lost segments are more than chance") {
  Losses losses;
  CHECK_FALSE(losses.note(3, kCame, kWithin, kNow));
  CHECK(losses.note(1, kCame, kWithin, kNow + kWithin));
}

TEST_CASE("losses of long ago are not added up") {
  Losses losses;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(losses.note(3, kCame, kWithin, kNow + i * (kWithin + 1)));
}

TEST_CASE("losses that cost less than a smaller window are tolerated for a while, each time for longer") {
  Losses losses;
  TimeNs now_ns = kNow;
  for (const int seconds : {4, 8, 16, 32, 64, 128}) {
    losses.tolerate(now_ns);
    CHECK_FALSE(losses.note(99, kCame, kWithin, now_ns + seconds * kSecond - kWithin));
    CHECK(losses.note(1, kCame, kWithin, now_ns + seconds * kSecond - kWithin));  // five per cent is too much
    now_ns += seconds * kSecond;
    CHECK(losses.note(10, kCame, kWithin, now_ns + kWithin));
  }
  losses.tolerate(now_ns);
  losses.tolerate_no_more();
  CHECK(losses.note(10, kCame, kWithin, now_ns + kSecond));
}

TEST_CASE("a loss was worth its window where clearly less comes with a smaller one") {
  LossTrial trial;
  CHECK_FALSE(trial.running());
  CHECK_FALSE(trial.note(1, kSecond, 0, kFrom));
  trial.begin(kTrialWindow, kRate, kFrom);
  CHECK(trial.window() == kTrialWindow);
  CHECK(epochs_until_decided(trial, 0.8, 0) == 4);
  CHECK_FALSE(trial.running());
  CHECK(trial.worth());

  trial.begin(kTrialWindow, kRate, kFrom);
  CHECK(epochs_until_decided(trial, 0.9, 0) == 4);  // normal variation of rates
  CHECK_FALSE(trial.worth());
}

TEST_CASE("a trial of a loss takes as long as answers need to show a result") {
  LossTrial trial;
  trial.begin(kTrialWindow, kRate, kFrom);
  CHECK(epochs_until_decided(trial, 1, 16 * kTrialEpoch) == 16);
}

TEST_CASE("answers to requests of the larger window are not part of the trial") {
  LossTrial trial;
  trial.begin(kTrialWindow, kRate, kFrom);
  CHECK_FALSE(trial.note(0, kSecond, 0, kFrom - 1));
  CHECK(epochs_until_decided(trial, 1, 0) == 4);
  CHECK_FALSE(trial.worth());
}

TEST_CASE("a trial that is stopped decides nothing") {
  LossTrial trial;
  trial.begin(kTrialWindow, kRate, kFrom);
  trial.stop();
  CHECK_FALSE(trial.note(0, kSecond, 0, kFrom + kSecond));
}

}  // namespace weir::shaping
