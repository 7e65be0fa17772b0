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

TEST_CASE("what is missing when the time has come is asked for, of a slice that was pushed out too") {
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

TEST_CASE("a readout has passed by what is older than the newest of its present connection") {
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
