#include "weir_catch.hpp"
#include <weir/lab/traffic.hpp>

namespace weir::lab {
namespace {

TEST_CASE("a paced flow may send what its rate has given it since its start") {
  const Pace pace(8'000'000, kSecond, 3 * kSecond);
  CHECK(pace.room(0, 0) == 0);
  CHECK(pace.room(kSecond, 0) == 0);
  CHECK(pace.room(kSecond + kMillisecond, 0) == 1000);
  CHECK(pace.room(kSecond + 2 * kMillisecond, 1000) == 1000);
  CHECK(pace.room(kSecond + 2 * kMillisecond, 2000) == 0);
}

TEST_CASE("a flow that was held up does not catch up at once") {
  const Pace pace(8'000'000, 0, 0);
  CHECK(pace.room(kSecond, 0) == 10'000 + 65'536);
}

TEST_CASE("a flow ends at its time, and has been sending from its start until then") {
  const Pace pace(0, kSecond, 3 * kSecond);
  CHECK(pace.room(2 * kSecond, 0) == UINT64_MAX);
  CHECK_FALSE(pace.over(2 * kSecond));
  CHECK(pace.over(3 * kSecond));
  CHECK(pace.room(3 * kSecond, 0) == 0);
  CHECK(pace.active_ns(kMillisecond) == 0);
  CHECK(pace.active_ns(2 * kSecond) == kSecond);
  CHECK(pace.active_ns(9 * kSecond) == 2 * kSecond);
}

TEST_CASE("a flow is looked at again when it may have room") {
  const Pace pace(8'000'000, 500 * kMillisecond, kSecond);
  CHECK(pace.wait_ns(0) == 500 * kMillisecond);
  CHECK(pace.wait_ns(600 * kMillisecond) == kMillisecond);
  CHECK(pace.wait_ns(2 * kSecond) == kSecond);
}

}  // namespace
}  // namespace weir::lab
