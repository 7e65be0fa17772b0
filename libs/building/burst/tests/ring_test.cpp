#include "weir_catch.hpp"
#include <weir/burst/ring.hpp>

#include <algorithm>
#include <vector>

using namespace weir;
using namespace weir::burst;

namespace {

constexpr RingSettings kSmall{1000, 500, 1'000'000'000, 1'000'000};

void add(Ring& ring, std::uint64_t slice) {
  REQUIRE(ring.add(SliceId(slice), Attempt(0), static_cast<UtcNs>(slice) * kQuantum, 100));
  REQUIRE(ring.broken_invariant().empty());
}

void fill(Ring& ring, std::uint64_t slices) {
  for (std::uint64_t i = 1; i <= slices; ++i) add(ring, i);
}

Alert window(std::uint32_t number, std::int64_t first, std::int64_t last) {
  return {number, first * kQuantum, (last + 1) * kQuantum};
}

std::uint64_t save_all(Ring& ring) {
  std::uint64_t records = 0;
  for (TimeNs now = 0; now < 1000 * kSecond; now += kSecond) {
    while (const auto record = ring.next(now)) {
      ring.saved(record->alert, record->slice);
      ++records;
    }
  }
  return records;
}

}  // namespace

TEST_CASE("the oldest slices are overwritten, and count as too old for an alert") {
  Ring ring(kSmall);
  fill(ring, 25);
  CHECK(ring.slices() == 10);
  CHECK(ring.overwritten() == 15);
  CHECK(ring.oldest() == 16 * kQuantum);
  ring.open(window(1, 14, 17));
  CHECK(ring.account(1)->too_old.count == 2);
  CHECK(ring.account(1)->waiting.count == 2);
  CHECK(save_all(ring) == 2);
  CHECK(ring.account(1)->saved.count == 2);
  CHECK(ring.bytes_frozen() == 0);
}

TEST_CASE("the ring states the bytes of the largest slice that it has kept") {
  Ring ring(kSmall);
  CHECK(ring.largest() == 0);
  REQUIRE(ring.add(SliceId(100), Attempt(0), 0, 300));
  fill(ring, 25);
  CHECK(ring.largest() == 300);
  CHECK_FALSE(ring.add(SliceId(101), Attempt(0), 0, 1001));  // not kept
  CHECK(ring.largest() == 300);
}

TEST_CASE("new slices pass over frozen ones and never wait") {
  Ring ring(kSmall);
  fill(ring, 10);
  ring.open(window(1, 3, 5));
  for (std::uint64_t i = 11; i <= 60; ++i) {
    CHECK(ring.add(SliceId(i), Attempt(0), static_cast<UtcNs>(i) * kQuantum, 100));
    REQUIRE(ring.broken_invariant().empty());
  }
  CHECK(ring.bytes_frozen() == 300);
  CHECK(save_all(ring) == 3);
}

TEST_CASE("beyond the limit of frozen bytes slices are no_room, and an alert that finds room is served") {
  Ring ring(kSmall);
  fill(ring, 10);
  ring.open(window(1, 1, 10));
  CHECK(ring.account(1)->waiting.count == 5);
  CHECK(ring.account(1)->no_room.count == 5);
  ring.open(window(2, 8, 10));
  CHECK(ring.account(2)->no_room.count == 3);
  save_all(ring);
  ring.open(window(3, 8, 10));
  CHECK(ring.account(3)->waiting.count == 3);
}

TEST_CASE("overlapping alerts share bytes, and each saves its slices") {
  Ring ring(kSmall);
  fill(ring, 10);
  ring.open(window(1, 3, 6));
  ring.open(window(2, 5, 7));
  CHECK(ring.bytes_frozen() == 500);
  CHECK(save_all(ring) == 7);
  CHECK(ring.account(1)->saved.count == 4);
  CHECK(ring.account(2)->saved.count == 3);
}

TEST_CASE("a slice that is settled after the alert belongs to it") {
  Ring ring(kSmall);
  fill(ring, 3);
  ring.open(window(1, 3, 5));
  CHECK(ring.add(SliceId(4), Attempt(0), 4 * kQuantum, 100));
  CHECK(ring.add(SliceId(6), Attempt(0), 6 * kQuantum, 100));
  CHECK(ring.account(1)->waiting.count == 2);
  save_all(ring);
  ring.close(1);
  CHECK(ring.account(1)->saved.count == 2);
  CHECK(ring.add(SliceId(5), Attempt(0), 5 * kQuantum, 100));
  CHECK(ring.account(1)->all().count == 2);
}

TEST_CASE("the rate of saving is bounded, whatever waits") {
  RingSettings settings = kSmall;
  settings.bytes_per_s = 100;
  Ring ring(settings);
  fill(ring, 10);
  ring.open(window(1, 1, 5));
  std::uint64_t records = 0;
  for (TimeNs now = kSecond; now < 4 * kSecond; now += 10 * kMillisecond) {
    while (const auto record = ring.next(now)) ++records;
  }
  CHECK(records >= 3);
  CHECK(records <= 4);
}

TEST_CASE("a record is sent again after a lost connection, and late answers change nothing") {
  Ring ring(kSmall);
  fill(ring, 3);
  ring.open(window(1, 2, 2));
  const auto first = ring.next(kSecond);
  REQUIRE(first);
  ring.send_again(1, first->slice);
  const auto again = ring.next(2 * kSecond);
  REQUIRE(again);
  CHECK(again->offset == first->offset);
  ring.saved(1, again->slice);
  ring.saved(1, again->slice);
  ring.refused(1, again->slice);
  CHECK(ring.account(1)->saved.count == 1);
  CHECK(ring.account(1)->all().count == 1);
}

TEST_CASE("a slice that is longer than the ring is no_room") {
  Ring ring(kSmall);
  fill(ring, 2);
  ring.open(window(1, 1, 9));
  CHECK_FALSE(ring.add(SliceId(3), Attempt(0), 3 * kQuantum, 2000));
  CHECK(ring.account(1)->no_room.count == 1);
  ring.open(window(2, 3, 3));
  CHECK(ring.account(2)->no_room.count == 1);
}

namespace {

// Memory for ten slices, and disk for thirty.
constexpr RingSettings kWithDisk{1000, 2400, 1'000'000'000, 1'000'000, 3000, 800, 500};

// The disk takes everything that it gets.
void write_all(Ring& ring) {
  while (const auto write = ring.next_write()) ring.written(write->slice, 7);
  REQUIRE(ring.broken_invariant().empty());
}

}  // namespace

TEST_CASE("slices that memory has lost are saved from the disk, the oldest as long as it is large") {
  Ring ring(kWithDisk);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    add(ring, i);
    write_all(ring);
  }
  CHECK(ring.slices() == 30);
  CHECK(ring.oldest() == 71 * kQuantum);
  ring.open(window(1, 66, 95));
  CHECK(ring.account(1)->too_old.count == 5);
  CHECK(ring.account(1)->no_room.count == 1);  // 24 may be frozen
  std::uint64_t from_disk = 0;
  for (TimeNs now = 0; now < 100 * kSecond; now += kSecond) {
    while (const auto record = ring.next(now)) {
      from_disk += record->from_disk ? 1 : 0;
      CHECK((!record->from_disk || record->checksum == 7));
      ring.saved(record->alert, record->slice);
    }
  }
  CHECK(ring.account(1)->saved.count == 24);
  CHECK(from_disk == 20);
  CHECK(ring.disk_slow() + ring.disk_failed() == 0);
}

TEST_CASE("a slow disk never holds up new slices: those that it has not taken are lost as disk_slow") {
  Ring ring(kWithDisk);
  fill(ring, 10);
  std::vector<SliceId> writing;
  while (const auto write = ring.next_write()) writing.push_back(write->slice);
  CHECK(writing.size() == 5);  // 500 bytes on their way
  for (std::uint64_t i = 11; i <= 40; ++i) add(ring, i);
  CHECK(ring.disk_slow() == 30);  // all but the 5 on their way and the 5 newest
  for (const SliceId slice : writing) ring.written(slice, 0);
  ring.open(window(1, 1, 40));
  CHECK(ring.account(1)->disk_slow.count == 30);
  CHECK(save_all(ring) == 10);
  CHECK(ring.account(1)->all().count == 40);
}

TEST_CASE("a failing disk costs the slices that memory loses meanwhile, and is used again when it works") {
  Ring ring(kWithDisk);
  for (std::uint64_t i = 1; i <= 15; ++i) {
    add(ring, i);
    if (const auto write = ring.next_write()) ring.write_failed(write->slice);
    REQUIRE(ring.broken_invariant().empty());
  }
  CHECK(ring.disk_failed() == 5);
  write_all(ring);
  for (std::uint64_t i = 16; i <= 30; ++i) {
    add(ring, i);
    write_all(ring);
  }
  CHECK(ring.disk_failed() == 5);
  ring.open(window(1, 1, 26));
  CHECK(ring.account(1)->disk_failed.count == 5);
  const auto unreadable = ring.next(kSecond);
  REQUIRE(unreadable);
  CHECK(unreadable->from_disk);
  ring.read_failed(1, unreadable->slice);
  CHECK(ring.account(1)->disk_failed.count == 6);
  CHECK(save_all(ring) == 20);
}

TEST_CASE("frozen slices stay on disk, and those that find no room beside them say so") {
  RingSettings settings = kWithDisk;
  settings.frozen_bytes_max = 3000;
  Ring ring(settings);
  for (std::uint64_t i = 1; i <= 30; ++i) {
    add(ring, i);
    write_all(ring);
  }
  ring.open(window(1, 1, 30));
  CHECK(ring.bytes_frozen() == 3000);
  for (std::uint64_t i = 31; i <= 60; ++i) {
    add(ring, i);
    write_all(ring);
  }
  ring.open(window(2, 31, 60));
  CHECK(ring.account(2)->no_room.count == 30);
  CHECK(save_all(ring) == 30);
  CHECK(ring.account(1)->saved.count == 30);
}

TEST_CASE("a record on its way to a writer keeps its memory, whatever the disk has") {
  Ring ring(kWithDisk);
  fill(ring, 10);
  write_all(ring);
  ring.open(window(1, 1, 1));
  const auto record = ring.next(kSecond);
  REQUIRE(record);
  CHECK_FALSE(record->from_disk);
  for (std::uint64_t i = 11; i <= 30; ++i) {
    const auto offset = ring.add(SliceId(i), Attempt(0), static_cast<UtcNs>(i) * kQuantum, 100);
    REQUIRE(offset);
    CHECK(*offset != record->offset);
    write_all(ring);
  }
  ring.send_again(1, record->slice);
  for (std::uint64_t i = 31; i <= 40; ++i) add(ring, i);
  const auto again = ring.next(2 * kSecond);
  REQUIRE(again);
  CHECK(again->from_disk);
}

// All sets of frozen records among ten, and new records of many sizes.
TEST_CASE("a record that finds no room overwrites nothing, and a smaller one finds it afterwards") {
  for (std::uint64_t bytes = 50; bytes <= 1100; bytes += 50) {
    for (std::uint64_t frozen = 0; frozen < 1024; ++frozen) {
      Region region(1000);
      const auto is_held = [&](SliceId slice) { return (frozen >> (slice.value - 1) & 1) != 0; };
      std::uint64_t gone = 0;
      const auto overwrite = [&](SliceId) { ++gone; };
      for (std::uint64_t i = 1; i <= 10; ++i) REQUIRE(region.place(SliceId(i), 100, is_held, overwrite));
      REQUIRE(gone == 0);
      std::uint64_t longest = 0;
      std::uint64_t gap = 0;
      for (std::uint64_t i = 1; i <= 10; ++i) {
        gap = is_held(SliceId(i)) ? 0 : gap + 100;
        longest = std::max(longest, gap);
      }
      const auto placed = region.place(SliceId(11), bytes, is_held, overwrite);
      REQUIRE(placed.has_value() == (bytes <= longest));
      if (placed) continue;
      REQUIRE(gone == 0);
      REQUIRE(region.used() == 1000);
      REQUIRE(region.place(SliceId(12), 100, is_held, overwrite).has_value() == (longest >= 100));
    }
  }
}

TEST_CASE("a slice too large for the gaps between frozen ones costs later alerts nothing") {
  Ring ring(kSmall);
  fill(ring, 10);
  ring.open(window(1, 5, 5));
  CHECK_FALSE(ring.add(SliceId(11), Attempt(0), 11 * kQuantum, 600));
  CHECK(ring.broken_invariant().empty());
  ring.open(window(2, 1, 11));
  CHECK(ring.account(2)->too_old.count == 0);
  CHECK(ring.account(2)->no_room.count == 1 + 5);  // slice 11, and what is more than half of the ring
}
