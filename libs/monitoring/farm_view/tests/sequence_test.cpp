#include "weir_catch.hpp"
#include <weir/farm_view/sequence.hpp>

#include <limits>

using namespace weir;

TEST_CASE("the progress of a sequence is a line, whether it runs, waits, is silent or over") {
  v1::Sequence one;
  one.set_name("scan.yaml");
  one.set_runs(10);
  one.set_good(3);
  one.set_failed(1);
  one.set_point("dcm.credits=8");
  one.set_left_s(750.2);
  one.set_utc_ns(kSecond);
  CHECK(farm_view::sequence_text(one, 2 * kSecond) ==
        "scan.yaml: 4 of 10 runs, 1 failed, at dcm.credits=8; 0:12:30 left");
  one.set_waits_for("temperature");
  one.set_left_s(std::numeric_limits<double>::infinity());
  CHECK(farm_view::sequence_text(one, 2 * kSecond) ==
        "scan.yaml: 4 of 10 runs, 1 failed, at dcm.credits=8, waits for temperature; 0:00:00 left");
  CHECK(farm_view::sequence_text(one, 70 * kSecond) ==
        "scan.yaml: 4 of 10 runs, 1 failed, at dcm.credits=8, waits for temperature; no message for 69 s");
  one.set_over(true);
  CHECK(farm_view::sequence_text(one, 70 * kSecond) ==
        "scan.yaml: 4 of 10 runs, 1 failed; ended before its last run");
  one.set_good(9);
  CHECK(farm_view::sequence_text(one, 70 * kSecond) == "scan.yaml: 10 of 10 runs, 1 failed; over");
}
