#include "../src/watchers.hpp"

#include "weir_catch.hpp"

using namespace weir;
using namespace weir::run_control;

TEST_CASE("a watcher receives views while it renews its request, with the number of its last request") {
  FarmWatchers watchers;
  REQUIRE(watchers.add("a", 1, 0));
  REQUIRE(watchers.add("b", 7, 0));
  REQUIRE(watchers.add("a", 2, 5 * kSecond));
  REQUIRE(watchers.present(5 * kSecond).size() == 2);
  CHECK(watchers.present(5 * kSecond)[0].id == 2);
  REQUIRE(watchers.present(FarmWatchers::kLease).size() == 1);
  CHECK(watchers.present(FarmWatchers::kLease)[0].client == "a");
}

TEST_CASE("the number of watchers is limited, until one leaves") {
  FarmWatchers watchers;
  for (std::size_t i = 0; i < FarmWatchers::kMost; ++i) REQUIRE(watchers.add(std::to_string(i), 1, 0));
  CHECK_FALSE(watchers.add("one more", 1, 0));
  CHECK(watchers.add("3", 2, 0));
  CHECK(watchers.add("one more", 1, FarmWatchers::kLease));
}

TEST_CASE("every change, every report of the supervisor and every run's end is sent once") {
  using Due = FarmWatchers::Due;
  FarmWatchers watchers;
  FarmWatchers::Seen seen;
  CHECK(watchers.due(seen) == Due::nothing);
  seen.under_way = control::Command::init;
  CHECK(watchers.due(seen) == Due::view);
  CHECK(watchers.due(seen) == Due::nothing);
  watchers.supervisor_reported();
  CHECK(watchers.due(seen) == Due::view);
  CHECK(watchers.due(seen) == Due::nothing);
  CHECK(watchers.run_over() == nullptr);
  v1::BusMessage over;
  over.mutable_run_over()->set_run(4);
  watchers.take(over);
  watchers.take(over);
  REQUIRE(watchers.run_over() != nullptr);
  CHECK(watchers.due(seen) == Due::run_over);
  watchers.take(over);
  CHECK(watchers.due(seen) == Due::nothing);
}
