#include "weir_catch.hpp"
#include <weir/run/restarts.hpp>

namespace weir::run {
namespace {

constexpr TimeNs kNow = 7 * kSecond;
constexpr int kKilled = -9;

TEST_CASE(
    "a process that fails is started again, each time after twice the wait, until restarts are used up") {
  RestartSettings settings;
  settings.restarts_max = 3;
  settings.backoff_ns = 200 * kMillisecond;
  Restarts restarts(settings);
  CHECK(restarts.after_end(kKilled, kNow) == kNow + 200 * kMillisecond);
  CHECK(restarts.after_end(1, kNow) == kNow + 400 * kMillisecond);
  CHECK(restarts.after_end(kKilled, kNow) == kNow + 800 * kMillisecond);
  CHECK(restarts.count() == 3);
  CHECK_FALSE(restarts.after_end(kKilled, kNow).has_value());
  CHECK(restarts.count() == 3);
}

TEST_CASE("the wait before a restart does not grow beyond its limit") {
  RestartSettings settings;
  settings.restarts_max = 1000;
  Restarts restarts(settings);
  for (int i = 0; i < 100; ++i) (void)restarts.after_end(kKilled, kNow);
  CHECK(restarts.after_end(kKilled, kNow) == kNow + settings.backoff_max_ns);
}

TEST_CASE("a process that ended well stays away, and uses no restart up") {
  Restarts restarts({});
  CHECK_FALSE(restarts.after_end(0, kNow).has_value());
  CHECK(restarts.count() == 0);
}

TEST_CASE("a process stays away where restarts are off") {
  RestartSettings settings;
  settings.on_failure = false;
  Restarts restarts(settings);
  CHECK_FALSE(restarts.after_end(kKilled, kNow).has_value());
}

}  // namespace
}  // namespace weir::run
