#include "weir_catch.hpp"
#include <weir/tap/tally.hpp>

using namespace weir::tap;

TEST_CASE("a gap in a tag's sequence counts as lost samples") {
  Tally tally;
  tally.add("a", {1, 10, 0, 100});  // samples before the client subscribed are not lost
  tally.add("a", {1, 11, 0, 110});
  tally.add("b", {2, 5, 0, 50});
  CHECK(tally.lost() == 0);
  tally.add("a", {1, 15, 2, 150});
  CHECK(tally.lost() == 3);
  CHECK(tally.received() == 4);
  CHECK(tally.dropped() == 2);
  CHECK(tally.seen() == 200);
}

TEST_CASE("a restarted numbering counts from its own beginning") {
  Tally tally;
  tally.add("a", {1, 10, 4, 100});
  tally.add("a", {9, 2, 1, 3});
  CHECK(tally.lost() == 2);
  CHECK(tally.dropped() == 5);
  CHECK(tally.seen() == 103);
}

TEST_CASE("a sequence number that is repeated or goes back loses nothing") {
  Tally tally;
  tally.add("a", {1, 10, 0, 100});
  tally.add("a", {1, 10, 0, 100});
  tally.add("a", {1, 3, 0, 30});
  CHECK(tally.lost() == 0);
}
