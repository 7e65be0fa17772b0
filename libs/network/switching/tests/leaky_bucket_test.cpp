#include "weir_catch.hpp"
#include <weir/switching/leaky_bucket.hpp>

namespace weir::switching {
namespace {

constexpr std::uint64_t kFrame = 1538;

// Returns the frames that leave until `until_ns`, each as soon as it may.
std::uint64_t frames_until(LeakyBucket bucket, TimeNs until_ns) {
  std::uint64_t frames = 0;
  for (TimeNs now = 0;; ++frames) {
    now = std::max(now, bucket.ready_ns(kFrame));
    if (now >= until_ns) return frames;
    bucket.take(now, kFrame);
  }
}

TEST_CASE("32 packets in 500 us are the thesis' 0.777 Gb/s") {
  // 32 * 1518 bytes in 500 us there; on the wire 787 Mb/s.
  const LeakyBucket bucket(32 * kFrame * 8 * 2000, 32 * kFrame);
  CHECK(frames_until(bucket, 1) == 32);
  const auto second = frames_until(bucket, kSecond);
  CHECK(second >= 64'000);
  CHECK(second <= 64'000 + 32);
}

TEST_CASE("a bucket that was idle for long sends one burst, not more") {
  LeakyBucket bucket(8'000'000, 3 * kFrame);
  TimeNs now = 1000 * kSecond;
  for (int i = 0; i < 3; ++i) {
    CHECK(bucket.ready_ns(kFrame) <= now);
    bucket.take(now, kFrame);
  }
  CHECK(bucket.ready_ns(kFrame) > now);
}

TEST_CASE("a frame longer than the burst waits for the rate, not for ever") {
  LeakyBucket bucket(8'000'000, 100);  // a byte a microsecond
  CHECK(bucket.ready_ns(kFrame) <= 0);
  bucket.take(0, kFrame);
  CHECK(bucket.ready_ns(kFrame) == 1538 * kMicrosecond);
}

TEST_CASE("no rate is no limit") {
  LeakyBucket bucket(0, 0);
  for (int i = 0; i < 1000; ++i) {
    CHECK(bucket.ready_ns(kFrame) <= 5);
    bucket.take(5, kFrame);
  }
}

}  // namespace
}  // namespace weir::switching
