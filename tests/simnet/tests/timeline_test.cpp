#include "weir_catch.hpp"
#include <weir/simnet/random.hpp>
#include <weir/simnet/timeline.hpp>

#include <vector>

using namespace weir;
using simnet::Random;
using simnet::Timeline;
using simnet::Trace;

TEST_CASE("events happen in order of time, then of their request") {
  Timeline timeline;
  std::vector<int> seen;
  timeline.at(20, [&] { seen.push_back(3); });
  timeline.at(10, [&] {
    seen.push_back(1);
    timeline.at(5, [&] { seen.push_back(2); });  // not before now
  });
  timeline.at(20, [&] { seen.push_back(4); });
  timeline.at(40, [&] { seen.push_back(5); });
  while (timeline.step(30)) {
  }
  CHECK(seen == std::vector<int>{1, 2, 3, 4});
  CHECK(timeline.now_ns() == 30);
}

TEST_CASE("random numbers stay within their bounds and repeat from their seed") {
  Random random(7);
  Random same(7);
  for (int i = 0; i < 1000; ++i) {
    const auto drawn = random.skewed(5, 5000);
    CHECK(drawn == same.skewed(5, 5000));
    CHECK(drawn >= 5);
    CHECK(drawn <= 5000);
    const auto even = random.between(-3, 3);
    CHECK(even == same.between(-3, 3));
    CHECK(even >= -3);
    CHECK(even <= 3);
  }
  CHECK(random.skewed(9, 9) == 9);
}

TEST_CASE("a trace's hash tells runs apart that differ in one number") {
  Trace one;
  Trace other;
  one.note(1, "a", "sent", 2, 3);
  other.note(1, "a", "sent", 2, 4);
  CHECK(one.hash() != other.hash());
  Trace same;
  same.note(1, "a", "sent", 2, 3);
  CHECK(one.hash() == same.hash());
}
