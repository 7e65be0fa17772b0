#include "../src/sequence_watch.hpp"

#include "weir_catch.hpp"

#include <limits>

using namespace weir;
using namespace weir::run_control;
using Catch::ContainsSubstring;

namespace {

v1::Sequence scan(const std::string& id) {
  v1::Sequence one;
  one.set_id(id);
  one.set_name("scan.yaml");
  one.set_runs(10);
  one.set_good(3);
  one.set_failed(1);
  return one;
}

v1::Sequence shown(const SequenceWatch& watch, TimeNs now) {
  v1::FarmView view;
  watch.add_to(view, now);
  return view.sequence();
}

}  // namespace

TEST_CASE("a second sequence waits until the first is over or its client has died") {
  SequenceWatch watch;
  CHECK(watch.take(scan("a"), "ann", kSecond, 5).empty());
  CHECK_THAT(watch.take(scan("b"), "bob", 2 * kSecond, 6),
             ContainsSubstring("scan.yaml by ann is in progress, 4 of 10 runs done, 1 failed"));
  CHECK(shown(watch, 2 * kSecond).by() == "ann");
  SECTION("over") {
    v1::Sequence over = scan("a");
    over.set_over(true);
    CHECK(watch.take(over, "ann", 3 * kSecond, 7).empty());
    CHECK(watch.take(scan("b"), "bob", 4 * kSecond, 8).empty());
    CHECK(shown(watch, 4 * kSecond).by() == "bob");
  }
  SECTION("dead") { CHECK(watch.take(scan("b"), "bob", 61 * kSecond, 8).empty()); }
}

TEST_CASE("the death of a sequence's client is a finding, its end is not") {
  SequenceWatch watch;
  CHECK_FALSE(watch.finding(kSecond));
  CHECK(watch.take(scan("a"), "ann", kSecond, 5).empty());
  CHECK_FALSE(watch.finding(60 * kSecond));
  const auto silent = watch.finding(61 * kSecond);
  REQUIRE(silent.has_value());
  CHECK(silent->word == "scan silent");
  CHECK_THAT(silent->reason, ContainsSubstring("the same command continues it"));
  v1::Sequence over = scan("a");
  over.set_over(true);
  CHECK(watch.take(over, "ann", 70 * kSecond, 7).empty());
  CHECK_FALSE(watch.finding(1000 * kSecond));
  CHECK(shown(watch, 71 * kSecond).over());
  CHECK(shown(watch, 71 * kSecond + SequenceWatch::kShown).runs() == 0);
}

TEST_CASE("senseless progress is refused, and texts are cleaned") {
  SequenceWatch watch;
  v1::Sequence bad = scan("");
  CHECK_FALSE(watch.take(bad, "", kSecond, 1).empty());
  bad = scan("a");
  bad.set_good(std::numeric_limits<std::uint32_t>::max());
  CHECK_FALSE(watch.take(bad, "", kSecond, 1).empty());
  bad = scan("a");
  bad.set_left_s(std::numeric_limits<double>::quiet_NaN());
  CHECK_FALSE(watch.take(bad, "", kSecond, 1).empty());
  CHECK(shown(watch, kSecond).runs() == 0);
  v1::Sequence dirty = scan("a");
  dirty.set_point("x\x1b[2J\n");
  CHECK(watch.take(dirty, "ann\n", kSecond, 1).empty());
  CHECK(shown(watch, kSecond).point().find_first_of("\x1b\n") == std::string::npos);
  CHECK(shown(watch, kSecond).by().find('\n') == std::string::npos);
}
