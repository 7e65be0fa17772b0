#include "weir_catch.hpp"
#include <weir/assembly/push_window.hpp>

using namespace weir;
using namespace weir::assembly;

TEST_CASE("the oldest slice is pushed out once when there are more than may be active") {
  PushWindow window(2, 1);
  for (std::uint64_t slice = 1; slice <= 3; ++slice) window.opened(SliceId(slice), 1000);
  const auto due = window.next_due(0);
  REQUIRE(due);
  CHECK(due->slice == SliceId(1));
  CHECK_FALSE(due->all);
  CHECK_FALSE(window.next_due(0));
  CHECK(window.active() == 2);
}

TEST_CASE("missing fragments are requested when they are due, even of a slice that was pushed out") {
  PushWindow window(1, 1);
  window.opened(SliceId(1), 50);
  window.opened(SliceId(2), 60);
  CHECK(window.next_due(0)->slice == SliceId(1));
  const auto first = window.next_due(50);
  REQUIRE(first);
  CHECK(first->slice == SliceId(1));
  CHECK(first->all);
  CHECK_FALSE(window.next_due(59));
  CHECK(window.next_due(60)->slice == SliceId(2));
  CHECK(window.active() == 0);
}

TEST_CASE("a fragment of a slice that has left, or of an older one, opens nothing") {
  PushWindow window(2, 1);
  CHECK(window.may_open(SliceId(0)));
  window.opened(SliceId(7), 1000);
  window.left(SliceId(7));
  CHECK_FALSE(window.may_open(SliceId(7)));
  CHECK_FALSE(window.may_open(SliceId(6)));
  CHECK(window.may_open(SliceId(8)));
}

TEST_CASE("a readout has skipped slices older than the newest on its present connection") {
  PushWindow window(2, 2);
  CHECK_FALSE(window.passed_by(0, SliceId(1)));
  window.arrived(0, SliceId(5));
  window.arrived(0, SliceId(3));  // an answer
  CHECK(window.passed_by(0, SliceId(4)));
  CHECK_FALSE(window.passed_by(0, SliceId(5)));
  CHECK_FALSE(window.passed_by(1, SliceId(4)));
  window.readout_lost(0);
  CHECK_FALSE(window.passed_by(0, SliceId(4)));
}

TEST_CASE("a pass without due slices visits none, however many are open") {
  for (const std::uint64_t slices : {4U, 16U, 64U, 256U}) {
    CAPTURE(slices);
    PushWindow window(1000, 1);
    for (std::uint64_t slice = 0; slice < slices; ++slice) window.opened(SliceId(slice), 1000);
    for (TimeNs now_ns = 0; now_ns < 100; ++now_ns) CHECK_FALSE(window.next_due(now_ns));
    CHECK(window.steps() == 0);
  }
}

TEST_CASE("a slice that is due, or pushed out, costs the same however many are open") {
  for (const std::uint64_t slices : {4U, 16U, 64U, 256U}) {
    CAPTURE(slices);
    PushWindow window(2, 1);
    std::uint64_t pushed_out = 0;
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      window.opened(SliceId(slice), 1000);
      while (window.next_due(0)) ++pushed_out;
    }
    CHECK(pushed_out == slices - 2);
    std::uint64_t due = 0;
    while (const auto one = window.next_due(1000)) CHECK(one->slice == SliceId(due++));
    CHECK(due == slices);
    CHECK(window.steps() <= 4 * slices);
  }
}

TEST_CASE("of the due slices the lowest id is first, whatever the order of their times") {
  PushWindow window(10, 1);
  window.opened(SliceId(5), 10);
  window.opened(SliceId(3), 30);
  window.opened(SliceId(4), 20);
  window.opened(SliceId(9), 5);
  CHECK(window.next_due(20)->slice == SliceId(4));
  window.left(SliceId(9));  // complete meanwhile
  CHECK(window.next_due(20)->slice == SliceId(5));
  CHECK_FALSE(window.next_due(20));
  CHECK(window.next_due(30)->slice == SliceId(3));
  CHECK(window.active() == 0);
}

TEST_CASE(
    "a slice without a fragment is not active, and leaves before the first newer one that is pushed out") {
  PushWindow window(1, 2);
  for (const std::uint64_t id : {1U, 2U, 3U}) window.opened(SliceId(id), 1000, false);
  window.arrived(0, SliceId(2));
  window.arrived(1, SliceId(2));
  CHECK(window.active() == 1);
  CHECK_FALSE(window.next_due(0));
  window.opened(SliceId(4), 1000);
  const auto first = window.next_due(0);
  REQUIRE(first);
  CHECK(first->slice == SliceId(1));
  CHECK_FALSE(first->all);
  CHECK_FALSE(window.may_open(SliceId(1)));
  CHECK(window.next_due(0)->slice == SliceId(2));
  CHECK_FALSE(window.next_due(0));  // 3 is newer than what was pushed out
  window.opened(SliceId(5), 1000);
  CHECK(window.next_due(0)->slice == SliceId(3));
  CHECK(window.next_due(0)->slice == SliceId(4));
  CHECK(window.next_due(1000)->slice == SliceId(1));  // open until it has left
}

TEST_CASE("a slice that has left is neither active nor pushed out") {
  PushWindow window(1, 1);
  window.opened(SliceId(1), 1000, false);
  window.opened(SliceId(2), 1000);
  window.left(SliceId(1));
  window.arrived(0, SliceId(1));
  CHECK(window.active() == 1);
  window.opened(SliceId(3), 1000);
  CHECK(window.next_due(0)->slice == SliceId(2));
  CHECK_FALSE(window.next_due(0));
}
