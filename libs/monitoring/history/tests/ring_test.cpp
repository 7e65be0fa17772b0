#include "weir_catch.hpp"
#include <weir/history/ring.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace weir;
using history::HistoryRing;

namespace {

constexpr UtcNs kBegin = 1'780'000'200 * kSecond;  // begins an interval of 15 minutes

// The file as a disk has it.
struct File {
  std::vector<std::byte> bytes;
  std::size_t written = 0;

  void take(HistoryRing& ring) {
    for (const HistoryRing::Change& one : ring.take_changes()) {
      if (bytes.size() < one.place + one.bytes.size()) bytes.resize(one.place + one.bytes.size());
      std::memcpy(bytes.data() + one.place, one.bytes.data(), one.bytes.size());
      written += one.bytes.size();
    }
  }
};

double mean(const std::vector<HistoryRing::Point>& points) {
  double sum = 0;
  for (const HistoryRing::Point& one : points) sum += one.mean;
  return sum / static_cast<double>(points.size());
}

}  // namespace

TEST_CASE("means of 10 s, 2 min and 15 min answer for an hour, a day and a week") {
  HistoryRing ring;
  UtcNs now = kBegin;
  for (int i = 0; i < 8 * 24 * 720; ++i, now += 5 * kSecond) ring.take(now, {{"rate", 100.0 + i % 2}});
  const auto hour = ring.curve("rate", now - 3600 * kSecond, now);
  CHECK(hour.step == 10 * kSecond);
  CHECK(hour.points.size() >= 358);
  const auto day = ring.curve("rate", now - 24 * 3600 * kSecond, now);
  CHECK(day.step == 120 * kSecond);
  CHECK(day.points.size() >= 718);
  const auto week = ring.curve("rate", now - 7 * 24 * 3600 * kSecond, now);
  CHECK(week.step == 900 * kSecond);
  CHECK(week.points.size() >= 670);
  for (const auto& one : {hour, day, week}) CHECK(mean(one.points) == Approx(100.5));
  CHECK(ring.curve("another", 0, now).points.empty());
  CHECK(ring.names() == std::vector<std::string>{"rate"});
}

TEST_CASE("the first minutes of a day are shown before its interval is over") {
  HistoryRing ring;
  for (int i = 0; i < 6; ++i) ring.take(kBegin + i * 10 * kSecond, {{"rate", 7.0}});
  const auto week = ring.curve("rate", kBegin - 7 * 24 * 3600 * kSecond, kBegin + 900 * kSecond);
  REQUIRE(week.points.size() == 1);
  CHECK(week.points[0].mean == Approx(7));
}

TEST_CASE("the file keeps its size however long it is written, and a row is written once") {
  HistoryRing ring;
  File file;
  UtcNs now = kBegin;
  for (int i = 0; i < 20 * 24 * 360; ++i, now += 10 * kSecond) {
    ring.take(now, {{"a", 1.0 + i}, {"b", 2.0}});
    file.take(ring);
  }
  CHECK(file.bytes.size() == HistoryRing::file_bytes());
  CHECK(HistoryRing::file_bytes() == 4'111'168);
  const double rows = static_cast<double>(file.written) / HistoryRing::kRowBytes;
  CHECK(rows < 20 * 24 * (360 + 30 + 4) + 10);
}

TEST_CASE("a new process continues the file, and makes the intervals that ended meanwhile") {
  File file;
  UtcNs now = kBegin;
  {
    HistoryRing ring;
    for (int i = 0; i < 60; ++i, now += 10 * kSecond) ring.take(now, {{"rate", 5.0}});
    file.take(ring);
  }
  HistoryRing ring;
  REQUIRE(ring.load(file.bytes));
  now += 1800 * kSecond;
  ring.take(now, {{"rate", 9.0}});
  ring.take(now + 10 * kSecond, {{"rate", 9.0}});
  file.take(ring);
  HistoryRing third;
  REQUIRE(third.load(file.bytes));
  const auto week = third.curve("rate", now - 7 * 24 * 3600 * kSecond, now + 900 * kSecond);
  REQUIRE(week.points.size() == 2);
  CHECK(week.points[0].mean == Approx(5));
  CHECK(week.points[1].mean == Approx(9));
}

TEST_CASE("a write that was torn anywhere costs its own row or name only") {
  HistoryRing ring;
  File file;
  UtcNs now = kBegin;
  for (int i = 0; i < 30; ++i, now += 10 * kSecond) ring.take(now, {{"rate", 5.0}});
  file.take(ring);
  ring.take(now, {{"rate", 6.0}, {"new", 1.0}});
  ring.take(now + 10 * kSecond, {{"rate", 6.0}, {"new", 1.0}});
  const std::vector<HistoryRing::Change> changes = ring.take_changes();
  REQUIRE(changes.size() >= 2);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> torn = file.bytes;
    const HistoryRing::Change& one = changes[random() % changes.size()];
    std::memcpy(torn.data() + one.place, one.bytes.data(), random() % one.bytes.size());
    HistoryRing read;
    REQUIRE(read.load(torn));
    const auto points = read.curve("rate", kBegin, now + 20 * kSecond).points;
    CHECK(points.size() >= 29);
    for (const HistoryRing::Point& point : points) CHECK((point.mean == 5 || point.mean == 6));
    CHECK(read.names().size() == 1);
  }
}

TEST_CASE("other bytes are refused, and of a damaged file only intact rows are read") {
  HistoryRing ring;
  CHECK_FALSE(ring.load({}));
  const std::vector<std::byte> zeros(HistoryRing::file_bytes());
  CHECK_FALSE(ring.load(zeros));
  File file;
  ring.take(kBegin, {{"rate", 5.0}});
  ring.take(kBegin + 10 * kSecond, {{"rate", 5.0}});
  file.take(ring);
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> damaged = file.bytes;
    damaged.resize(64 + random() % (damaged.size() - 64));
    for (int k = 0; k < 50; ++k) damaged[64 + random() % (damaged.size() - 64)] = std::byte(random());
    HistoryRing read;
    REQUIRE(read.load(damaged));
    for (const HistoryRing::Point& point : read.curve("rate", 0, kBegin + 20 * kSecond).points)
      CHECK(point.mean == 5);
  }
}

TEST_CASE("more series than columns are left out and counted, and unused columns are used again") {
  HistoryRing ring;
  std::map<std::string, double> values;
  for (std::size_t i = 0; i < HistoryRing::kSeriesMax; ++i) values["s" + std::to_string(i)] = 1;
  ring.take(kBegin, values);
  ring.take(kBegin + 10 * kSecond, {{"late", 1.0}, {"zero", 0.0}});
  CHECK(ring.left_out() == 1);
  UtcNs now = kBegin;
  for (int i = 0; i < 10 * 96; ++i, now += 900 * kSecond) {
    ring.take(now, {{"s0", 1.0}});
    ring.take(now + 300 * kSecond, {{"s0", 1.0}});
  }
  ring.take(now, {{"late", 3.0}});
  ring.take(now + 10 * kSecond, {{"late", 3.0}});
  CHECK(ring.left_out() == 1);
  CHECK(ring.names() == std::vector<std::string>{"late", "s0"});
  CHECK(ring.curve("late", now - 3600 * kSecond, now + 10 * kSecond).points.size() == 1);
}

TEST_CASE("a clock that jumps back and forth neither stops the ring nor mixes times") {
  HistoryRing ring;
  const std::vector<DurationNs> jumps{0, -3600 * kSecond, 86400 * kSecond, -86000 * kSecond};
  UtcNs now = kBegin;
  for (const DurationNs jump : jumps) {
    now += jump;
    for (int i = 0; i < 30; ++i, now += 10 * kSecond)
      ring.take(now, {{"time", static_cast<double>(now / kSecond % 100000) + 1}});
  }
  const auto points = ring.curve("time", now - 290 * kSecond, now).points;
  CHECK(points.size() >= 27);
  for (const HistoryRing::Point& one : points)
    CHECK(std::abs(one.mean - static_cast<double>(one.utc / kSecond % 100000)) < 10);
}
