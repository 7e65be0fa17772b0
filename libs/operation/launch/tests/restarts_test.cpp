#include "weir_catch.hpp"
#include <weir/launch/restarts.hpp>

namespace weir::launch {
namespace {

constexpr TimeNs kRestartNow = 7 * kSecond;

TEST_CASE(
    "a process that fails is started again, each time after twice the wait, until restarts are used up") {
  RestartSettings settings;
  settings.restarts_max = 3;
  settings.backoff_ns = 200 * kMillisecond;
  Restarts restarts(settings);
  CHECK(restarts.after_end(kRestartNow) == kRestartNow + 200 * kMillisecond);
  CHECK(restarts.after_end(kRestartNow) == kRestartNow + 400 * kMillisecond);
  CHECK(restarts.after_end(kRestartNow) == kRestartNow + 800 * kMillisecond);
  CHECK(restarts.count() == 3);
  CHECK_FALSE(restarts.after_end(kRestartNow).has_value());
  CHECK(restarts.count() == 3);
}

TEST_CASE("an address in use is tried again while restarts are on, and uses none of them up") {
  RestartSettings settings;
  settings.restarts_max = 1;
  Restarts restarts(settings);
  for (int i = 0; i < 100; ++i)
    CHECK(restarts.after_refusal(kRestartNow) == kRestartNow + settings.address_wait_ns);
  CHECK(restarts.count() == 0);
  REQUIRE(restarts.after_end(kRestartNow));
  CHECK(restarts.after_refusal(kRestartNow));
  settings.restarts_max = 0;
  CHECK_FALSE(Restarts(settings).after_refusal(kRestartNow));
  settings.restarts_max = 1;
  settings.on_failure = false;
  CHECK_FALSE(Restarts(settings).after_refusal(kRestartNow));
}

TEST_CASE("used restarts return with time, one after another, up to their number") {
  RestartSettings settings;
  settings.restarts_max = 3;
  settings.refill_ns = 60 * kSecond;
  Restarts restarts(settings);
  for (int i = 0; i < 3; ++i) REQUIRE(restarts.after_end(kRestartNow));
  CHECK_FALSE(restarts.after_end(kRestartNow + 59 * kSecond));
  CHECK(restarts.after_end(kRestartNow + 60 * kSecond));  // the restored allowance
  CHECK_FALSE(restarts.after_end(kRestartNow + 61 * kSecond));
  CHECK(restarts.after_end(kRestartNow + 120 * kSecond));
  const TimeNs later = kRestartNow + 86'400 * kSecond;
  for (int i = 0; i < 3; ++i) {
    // The waiting time starts anew as well.
    const auto at = restarts.after_end(later);
    REQUIRE(at);
    CHECK(*at == later + (settings.backoff_ns << i));
  }
  CHECK_FALSE(restarts.after_end(later));
}

TEST_CASE("the wait before a restart does not grow beyond its limit") {
  RestartSettings settings;
  settings.restarts_max = 1000;
  Restarts restarts(settings);
  for (int i = 0; i < 100; ++i) (void)restarts.after_end(kRestartNow);
  CHECK(restarts.after_end(kRestartNow) == kRestartNow + settings.backoff_max_ns);
}

TEST_CASE("a process stays away where restarts are off") {
  RestartSettings settings;
  settings.on_failure = false;
  Restarts restarts(settings);
  CHECK_FALSE(restarts.after_end(kRestartNow).has_value());
}

}  // namespace
}  // namespace weir::launch
