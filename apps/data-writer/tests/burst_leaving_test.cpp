#include "../src/burst_leaving.hpp"

#include "weir_catch.hpp"

namespace weir::writer {
namespace {

constexpr TimeNs kLeavingStart = 100 * kSecond;

}  // namespace

TEST_CASE("a writer that ends waits for every DCM with records of an open alert, but not forever") {
  BurstLeaving leaving;
  leaving.note_records(NodeIndex(0));
  leaving.note_records(NodeIndex(2));
  leaving.note_records(NodeIndex(2));
  CHECK_FALSE(leaving.is_over(kLeavingStart));  // it does not end yet
  leaving.begin(kLeavingStart);
  CHECK_FALSE(leaving.is_over(kLeavingStart));
  leaving.note_left(NodeIndex(2));
  CHECK_FALSE(leaving.is_over(kLeavingStart));
  SECTION("each has left") {
    leaving.note_left(NodeIndex(0));
    CHECK(leaving.is_over(kLeavingStart));
  }
  SECTION("one is silent") {
    CHECK_FALSE(leaving.is_over(kLeavingStart + BurstLeaving::kPatience - 1));
    CHECK(leaving.is_over(kLeavingStart + BurstLeaving::kPatience));
  }
  SECTION("the alerts end meanwhile") {
    leaving.note_over();
    CHECK(leaving.is_over(kLeavingStart));
  }
  SECTION("one has left and comes with records again") {
    leaving.note_left(NodeIndex(0));
    leaving.note_records(NodeIndex(2));
    CHECK_FALSE(leaving.is_over(kLeavingStart));
  }
}

TEST_CASE("a writer without records of alerts waits for no DCM") {
  BurstLeaving leaving;
  leaving.begin(kLeavingStart);
  CHECK(leaving.is_over(kLeavingStart));
}

}  // namespace weir::writer
