// Farms with a group that fetches built slices from the DCMs that forward them.
#include "needs_root.hpp"
#include "split_farm.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <string>
#include <vector>

using namespace weir;
using namespace weir::system_test;

TEST_CASE("built slices move to the group that fetches them, and the readouts send none of them twice") {
  const TemporaryFolder folder;
  FarmRun run(folder, half_forwarded(folder, Built::fetched), {"--slices", "1000"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_half_forwarded(folder, end, 1000);
  CHECK(end.summary.count("fetch.slices") == 500);
  CHECK(end.summary.count("fetch.fragments") == 500 * 8);
  CHECK(end.summary.count("fetch.fragments_sent") == 500 * 8);
  CHECK(end.summary.count("fetch.from_readouts") == 0);
  CHECK(end.out.find("received from DCMs, sent by DCMs") != std::string::npos);
}

TEST_CASE("the summary names the source that lacks fragments, of slices that groups forward or fetch") {
  const std::string faults = "source.faults=[{sources: [3], drop: 0.3}]";
  for (const Built built : {Built::fetched, Built::from_readouts}) {
    const TemporaryFolder folder;
    std::vector<std::string> arguments = sets({faults});
    arguments.insert(arguments.end(), {"--slices", "300"});
    FarmRun run(folder, half_forwarded(folder, built), arguments);
    const FarmEnd end = run.finish();
    CHECK_BALANCED(end, 0);
    CHECK(end.summary.count_all("fragments.missing") > 0);
    CHECK(end.out.find("source 3 at readout-") != std::string::npos);
    CHECK(end.out.find("source 4 at readout-") == std::string::npos);
  }
}

TEST_CASE("the filter of a group that fetches sees one step after the other, of slices that are here") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"filter.parameters.two_steps=true", "filter.isolation=worker"});
  arguments.insert(arguments.end(), {"--slices", "1000"});
  FarmRun run(folder, half_forwarded(folder, Built::fetched), arguments);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_half_forwarded(folder, end, 1000);
  CHECK(end.summary.count("fetch.slices") == 500);
  CHECK(end.summary.count("fetch.from_readouts") == 0);
  std::uint64_t unseen = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    unseen += slice.head().decision != storage::DecisionKind::filter ? 1 : 0;
  });
  CHECK(unseen == 0);
}

TEST_CASE("a line that fails costs a remote group that fetches time, and no slice or fragment", "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"run.duration_s=0", "trigger.rate_hz=120"});
  arguments.insert(arguments.end(), {"--lab", config_file("lab/remote-farm.yaml"), "--slices", "900", "--set",
                                     "lab.wan.outages=[{at_s: 1, for_s: 0.4}, {at_s: 2.5, for_s: 3}]"});
  FarmRun run(folder, config_file("remote-fetch.yaml"), arguments);
  const FarmEnd end = run.finish(Seconds(180));
  INFO(describe(end));
  CHECK((end.status == 0 || end.status == 3));  // 3: slices were assigned again
  CHECK(end.summary.balanced());
  CHECK(end.summary.count("triggered") == 900);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored_incomplete") == 0);
  CHECK(end.summary.count("fetch.slices") > 0);
  const Summary remote = end.summary.group("remote");
  CHECK(remote.count("arrived") == end.summary.group("local").count("forwarded"));
  CHECK(remote.count("stored") == remote.count("arrived"));
  const StoredRun stored(folder / "out");
  const DummyCheck check = check_dummy_data(stored);
  CHECK(check.wrong == "");
  CHECK(check.fragments == remote.count("stored") * 16);
}
