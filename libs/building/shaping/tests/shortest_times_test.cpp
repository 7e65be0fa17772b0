#include "../src/shortest_times.hpp"

#include "weir_catch.hpp"
#include <weir/base/time.hpp>

namespace weir::shaping {
namespace {

constexpr std::uint64_t kPiece = 17'000;

// A readout 200 us away with an uplink of 40 ns a byte; `queue` bytes of others are before it, at 2 ns a
// byte.
DurationNs takes(std::uint64_t owed, std::uint64_t queue) {
  return 200 * kMicrosecond + static_cast<DurationNs>(40 * owed + 2 * queue);
}

}  // namespace

TEST_CASE("the time of a readout's own uplink is distinguished from the queues of others") {
  ShortestTimes times;
  CHECK(times.ns() == 0);
  times.note(takes(kPiece, 90'000), kPiece);
  times.note(takes(2 * kPiece, 90'000), 2 * kPiece);
  CHECK(times.longer_ns(2 * kPiece) == 0);  // taken for a queue as well, without a measurement
  CHECK_FALSE(times.saw_pair());
  times.note_of_pair(takes(kPiece, 0), kPiece);
  CHECK_FALSE(times.saw_pair());
  times.note_of_pair(takes(2 * kPiece, 50'000), 2 * kPiece);  // the drain had not emptied the port yet
  times.note_of_pair(takes(2 * kPiece, 0), 2 * kPiece);
  CHECK(times.saw_pair());
  times.end_drain();
  CHECK(times.ns() == takes(kPiece, 0));
  CHECK(times.owed() == kPiece);
  CHECK(times.longer_ns(kPiece / 2) == 0);
  CHECK(times.longer_ns(5 * kPiece) == Approx(40.0 * 4 * kPiece));
}

TEST_CASE(
    "an uplink's pace is not told from answers of nearly the same length, nor from two that are read at "
    "once") {
  ShortestTimes times;
  times.note(takes(100, 0), 100);
  times.note_of_pair(takes(2900, 0), 2900);
  times.note_of_pair(takes(2900, 0), 2900);
  CHECK_FALSE(times.saw_pair());
  times.note_of_pair(takes(2 * kPiece, 0), kPiece);  // with the second one
  times.note_of_pair(takes(2 * kPiece, 0), 2 * kPiece);
  times.end_drain();
  CHECK(times.longer_ns(kPiece + 100) == Approx(40.0 * kPiece).epsilon(0.01));
}

TEST_CASE("an uplink is as fast as its fastest pair of late: others may have paused") {
  ShortestTimes times;
  times.note(takes(kPiece, 0), kPiece);
  times.note_of_pair(takes(2 * kPiece, 0) + 10 * kMillisecond, 2 * kPiece);
  times.end_drain();
  times.note_of_pair(takes(2 * kPiece, 0), 2 * kPiece);  // in another drain
  times.end_drain();
  CHECK(times.longer_ns(3 * kPiece) == Approx(40.0 * 2 * kPiece));
}

TEST_CASE("the shortest time of late is forgotten after eight drains") {
  ShortestTimes times;
  times.note(100 * kMicrosecond, kPiece);
  times.end_drain();
  for (int drain = 1; drain < 8; ++drain) {
    times.note(300 * kMicrosecond, kPiece);
    times.end_drain();
    CHECK(times.ns() == 100 * kMicrosecond);
  }
  times.note(300 * kMicrosecond, kPiece);
  times.end_drain();
  CHECK(times.ns() == 300 * kMicrosecond);
  // Without a measurement between two drains, the previous value stays.
  times.end_drain();
  CHECK(times.ns() == 300 * kMicrosecond);
}

}  // namespace weir::shaping
