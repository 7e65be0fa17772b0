#include "weir_catch.hpp"
#include <weir/lab/delay_line.hpp>

namespace weir::lab {
namespace {

// 976 bytes plus 24 on the wire take a millisecond at 8 Mbit/s.
constexpr std::size_t kFrame = 976;

LongLine line(std::uint64_t rate, std::uint64_t buffer, DurationNs delay) {
  return {"a", "b", rate, buffer, delay};
}

std::vector<std::byte> frame(std::size_t size, int first = 0) {
  std::vector<std::byte> bytes(size);
  bytes[0] = static_cast<std::byte>(first);
  return bytes;
}

TEST_CASE("a frame arrives after the time to send it and the delay") {
  DelayLine way(line(8'000'000, 100'000, 10 * kMillisecond));
  REQUIRE(way.offer(0, frame(kFrame)));
  CHECK(way.due_ns() == 11 * kMillisecond);
  CHECK(way.arrived(11 * kMillisecond - 1) == nullptr);
  REQUIRE(way.arrived(11 * kMillisecond) != nullptr);
  CHECK(way.arrived(11 * kMillisecond)->size() == kFrame);
}

TEST_CASE("frames arrive in order and at the line's rate, however they were sent") {
  DelayLine way(line(8'000'000, 100'000, 0));
  for (int i = 0; i < 10; ++i) REQUIRE(way.offer(5 * kMillisecond, frame(kFrame, i)));
  for (int i = 0; i < 10; ++i) {
    REQUIRE(way.due_ns() == (6 + i) * kMillisecond);
    CHECK(way.arrived((6 + i) * kMillisecond)->front() == static_cast<std::byte>(i));
    way.pop();
  }
  CHECK_FALSE(way.due_ns().has_value());
}

TEST_CASE("a frame that does not fit the buffer is dropped and counted, and those on the line take no room") {
  DelayLine way(line(8'000'000, 3 * kFrame, 1 * kSecond));
  for (int i = 0; i < 3; ++i) REQUIRE(way.offer(0, frame(kFrame)));
  CHECK_FALSE(way.offer(0, frame(kFrame)));
  CHECK(way.drops() == 1);
  CHECK(way.offer(1 * kMillisecond, frame(kFrame)));
  CHECK(way.offer(3 * kMillisecond, frame(kFrame)));
  CHECK(way.offer(3 * kMillisecond, frame(kFrame)));
  CHECK_FALSE(way.offer(3 * kMillisecond, frame(kFrame)));
}

TEST_CASE("a line without a rate only delays") {
  DelayLine way(line(0, 1, 2 * kMillisecond));
  for (int i = 0; i < 100; ++i) REQUIRE(way.offer(i, frame(1514)));
  CHECK(way.due_ns() == 2 * kMillisecond);
  CHECK(way.drops() == 0);
}

TEST_CASE("the number of frames in flight is bounded") {
  DelayLine way(line(0, 1, kSecond));
  std::size_t taken = 0;
  while (way.offer(0, frame(1U << 20))) ++taken;
  CHECK(taken == DelayLine::kBytesMax >> 20);
  CHECK(way.drops() == 1);
  way.pop();
  CHECK(way.offer(0, frame(1U << 20)));
}

TEST_CASE("a short frame takes as long as Ethernet's shortest frame") {
  DelayLine way(line(8'000'000, 1000, 0));
  REQUIRE(way.offer(0, frame(42)));
  CHECK(way.due_ns() == 84 * kMicrosecond);
}

}  // namespace
}  // namespace weir::lab
