#include "weir_catch.hpp"
#include <weir/burst/ring.hpp>

using namespace weir;
using namespace weir::burst;

namespace {

constexpr RingSettings kSmall{1000, 500, 1'000'000'000, 1'000'000};

Ring filled(std::uint64_t slices, RingSettings settings = kSmall) {
  Ring ring(settings);
  for (std::uint64_t i = 1; i <= slices; ++i) {
    REQUIRE(ring.add(SliceId(i), Attempt(0), static_cast<UtcNs>(i) * kQuantum, 100));
    REQUIRE(ring.broken_invariant().empty());
  }
  return ring;
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
  Ring ring = filled(25);
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

TEST_CASE("new slices pass over frozen ones and never wait") {
  Ring ring = filled(10);
  ring.open(window(1, 3, 5));
  for (std::uint64_t i = 11; i <= 60; ++i) {
    CHECK(ring.add(SliceId(i), Attempt(0), static_cast<UtcNs>(i) * kQuantum, 100));
    REQUIRE(ring.broken_invariant().empty());
  }
  CHECK(ring.bytes_frozen() == 300);
  CHECK(save_all(ring) == 3);
}

TEST_CASE("beyond the limit of frozen bytes slices are no_room, and an alert that finds room is served") {
  Ring ring = filled(10);
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
  Ring ring = filled(10);
  ring.open(window(1, 3, 6));
  ring.open(window(2, 5, 7));
  CHECK(ring.bytes_frozen() == 500);
  CHECK(save_all(ring) == 7);
  CHECK(ring.account(1)->saved.count == 4);
  CHECK(ring.account(2)->saved.count == 3);
}

TEST_CASE("a slice that is settled after the alert belongs to it") {
  Ring ring = filled(3);
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
  Ring ring = filled(10, settings);
  ring.open(window(1, 1, 5));
  std::uint64_t records = 0;
  for (TimeNs now = kSecond; now < 4 * kSecond; now += 10 * kMillisecond) {
    while (const auto record = ring.next(now)) ++records;
  }
  CHECK(records >= 3);
  CHECK(records <= 4);
}

TEST_CASE("a record is sent again after a lost connection, and late answers change nothing") {
  Ring ring = filled(3);
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
  Ring ring = filled(2);
  ring.open(window(1, 1, 9));
  CHECK_FALSE(ring.add(SliceId(3), Attempt(0), 3 * kQuantum, 2000));
  CHECK(ring.account(1)->no_room.count == 1);
  ring.open(window(2, 3, 3));
  CHECK(ring.account(2)->no_room.count == 1);
}
