#include "weir_catch.hpp"
#include <weir/lab/delay_line.hpp>
#include <weir/lab/relay.hpp>

#include <deque>
#include <map>
#include <random>
#include <utility>

namespace weir::lab {
namespace {

// 976 bytes plus 24 on the wire take a millisecond at 8 Mbit/s.
constexpr std::size_t kFrame = 976;

RelayedLink line(std::uint64_t rate, std::uint64_t buffer, DurationNs delay) {
  return {{}, {}, rate, buffer, delay};
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

TEST_CASE("frames of all links leave in the order in which they are due, and lateness is recorded") {
  LinkDelays delays({line(0, 0, 5 * kMillisecond), line(0, 0, 2 * kMillisecond)});
  CHECK_FALSE(delays.due_ns().has_value());
  REQUIRE(delays.offer(0, 0, frame(100, 1)));
  REQUIRE(delays.offer(3, kMillisecond, frame(100, 2)));
  CHECK(delays.due_ns() == 3 * kMillisecond);
  CHECK_FALSE(delays.due(3 * kMillisecond - 1).has_value());
  auto due = delays.due(6 * kMillisecond);
  REQUIRE(due.has_value());
  CHECK(due->direction == 3);
  CHECK(due->frame->front() == static_cast<std::byte>(2));
  delays.pop(3 * kMillisecond + 40 * kMicrosecond);
  due = delays.due(6 * kMillisecond);
  REQUIRE(due.has_value());
  CHECK(due->direction == 0);
  delays.pop(5 * kMillisecond);
  CHECK_FALSE(delays.due(kSecond).has_value());
  CHECK(delays.lateness_us().count() == 2);
  CHECK(delays.lateness_us().min() == 0);
  CHECK(delays.lateness_us().max() == 40);
}

TEST_CASE("links keep their frames' order, lose none, and never release one early") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<RelayedLink> links;
    for (int i = 0; i < 7; ++i) links.push_back(line(0, 0, static_cast<DurationNs>(random() % 5'000'000)));
    LinkDelays delays(links);
    std::map<std::size_t, std::deque<std::pair<TimeNs, std::byte>>> expected;  // by direction
    std::size_t out = 0;
    constexpr std::size_t kFrames = 2000;
    TimeNs now = 0;
    TimeNs last_due = 0;
    for (std::size_t in = 0; in < kFrames || out < kFrames;) {
      now += random() % 100'000;
      if (in < kFrames) {
        const std::size_t direction = random() % 14;
        const auto mark = static_cast<int>(random() % 256);
        REQUIRE(delays.offer(direction, now, frame(60, mark)));
        expected[direction].emplace_back(now + links[direction / 2].delay_ns, static_cast<std::byte>(mark));
        ++in;
      }
      if (random() % 3 != 0) continue;  // frames leave late, several at once
      while (const auto due = delays.due(now)) {
        auto& line = expected[due->direction];
        REQUIRE_FALSE(line.empty());
        REQUIRE(line.front().second == due->frame->front());
        REQUIRE(line.front().first <= now);
        REQUIRE(line.front().first == delays.due_ns());
        last_due = line.front().first;
        line.pop_front();
        delays.pop(now);
        ++out;
      }
    }
    CHECK(last_due <= now);
    CHECK(delays.lateness_us().count() == kFrames);
  }
}

TEST_CASE("the usual time of waking is a mean that single long waits hardly change") {
  WakingTime waking(2 * kMillisecond);
  CHECK(waking.ns() == 0);
  for (int i = 0; i < 200; ++i) waking.add((i % 2 == 0 ? 20 : 40) * kMicrosecond);
  CHECK(waking.ns() > 27 * kMicrosecond);
  CHECK(waking.ns() < 33 * kMicrosecond);
  waking.add(kSecond);
  CHECK(waking.ns() < 40 * kMicrosecond);
  for (int i = 0; i < 200; ++i) waking.add(kSecond);
  CHECK(waking.ns() <= WakingTime::kMost);
}

TEST_CASE("at most a quarter of the shortest delay is taken off, and nothing where links have none") {
  WakingTime brief(40 * kMicrosecond);
  WakingTime none(0);
  for (int i = 0; i < 200; ++i) {
    brief.add(50 * kMicrosecond);
    none.add(50 * kMicrosecond);
  }
  CHECK(brief.ns() <= 10 * kMicrosecond);
  CHECK(brief.ns() > 9 * kMicrosecond);
  CHECK(none.ns() == 0);
}

TEST_CASE("many links share the memory of one") {
  LinkDelays delays(std::vector<RelayedLink>(100, line(0, 0, kSecond)));
  std::size_t taken = 0;
  while (delays.offer(7, 0, frame(1U << 20))) ++taken;
  CHECK(taken == 4);
  CHECK(delays.drops(7) == 1);
  CHECK(delays.offer(8, 0, frame(1U << 20)));
}

TEST_CASE("a jitter above a tenth of the shortest delay makes a lab inexact") {
  reports::RelayReport report;
  report.delay_ns = 4 * kMillisecond;
  report.late_p99_us = 400;
  CHECK_FALSE(report.is_inexact());
  report.late_p99_us = 401;
  CHECK(report.is_inexact());
  report.delay_ns = 0;  // a long line with a rate only
  CHECK_FALSE(report.is_inexact());
}

}  // namespace
}  // namespace weir::lab
