#include "../src/losses.hpp"

#include "weir_catch.hpp"

namespace weir::shaping {
namespace {

constexpr DurationNs kWithin = 20 * kMillisecond;
constexpr double kCame = 2000;  // segments that arrived in that time
constexpr TimeNs kNow = 10 * kSecond;

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

}  // namespace weir::shaping
