// A farm behind one weir-switch that is killed in the run. Needs root; without it ctest shows SKIPPED.
#include "needs_root.hpp"
#include "soak.hpp"
#include "switched_lab.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <string>

namespace {

using namespace weir;
using namespace weir::system_test;

}  // namespace

TEST_CASE(
    "a switch that dies in a run and stays dead costs fragments, each with its reason, and hangs nothing") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  SwitchedLab lab(folder);
  lab.kill_switch();
  // No DCM reaches any readout for dcm.grace_ms: their fragments are missing from now on.
  CHECK(lab.run().wait_for_log("supervisor", "is reached by no DCM", Seconds(30)));
  (void)wait_until([] { return false; }, Seconds(3));
  const FarmEnd end = lab.finish();
  INFO(describe(end));
  CHECK((end.status == 0 || end.status == 3));
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.balanced());
  CHECK(end.summary.count("stored") > 0);
  CHECK(end.summary.count("stored") + end.summary.count_all("discarded") == end.summary.count("triggered"));
  const DummyCheck check = check_dummy_data(StoredRun(lab.run().out()));
  CHECK(check.wrong == "");
  CHECK(check.missing > 0);
  for (const auto& [reason, count] : end.summary.json().at("fragments").at("missing").as_object()) {
    CAPTURE(std::string(reason), count.to_number<std::uint64_t>());
    CHECK((reason == "source_down" || reason == "deadline"));
  }
}

TEST_CASE("a switch that is killed in a run and back after a second or two costs nothing but time") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  // TCP resumes after at most twice the outage.
  SwitchedLab lab(folder, {"dcm.deadline_ms=6000", "network.silence_ms=6000"});
  for (const double outage_s : {1.0, 2.0}) {
    lab.kill_switch();
    (void)wait_until([] { return false; }, Seconds(outage_s));
    lab.start_switch();
    // Not each connection resumes at the same time; an outage before would add to its pause.
    (void)wait_until([] { return false; }, Seconds(2 * outage_s));
    REQUIRE(lab.stores(1 << 20));
  }
  const FarmEnd end = lab.finish();
  CHECK_BALANCED(end, 0);
  INFO(boost::json::serialize(end.summary.json().at("fragments")));
  CHECK(check_all_stored(folder, end, lab.run().out()).missing == 0);
}
