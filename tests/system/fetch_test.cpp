// Farms with a group that fetches built slices from the DCMs that forward them.
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

// Of four slices the first group accepts one, rejects one and forwards two, of which the second accepts one.
std::string fetching_farm(const TemporaryFolder& folder) {
  const std::string plugin = std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/stumbles.so";
  return folder.write("fetch.yaml",
                      "farm: fetch\n"
                      "trigger: {mode: rate, rate_hz: 1000}\n"
                      "supervisor: {status_interval_ms: 100}\n"
                      "source: {size_bytes: 700}\n"
                      "readout: {count: 2, sources_per_readout: 4}\n"
                      "filter: {plugin: '" +
                          plugin +
                          "'}\n"
                          "dcm:\n"
                          "  nodes:\n"
                          "    - {name: 'near-{i}', count: 2, group: near}\n"
                          "    - {name: 'far-{i}', count: 2, group: far}\n"
                          "  groups:\n"
                          "    - {name: near, forward: [far], filter: {parameters: {to: far}}}\n"
                          "    - {name: far, fetch: builder}\n");
}

void check_half_forwarded(const TemporaryFolder& folder, const FarmEnd& end, std::uint64_t slices) {
  CHECK(end.summary.count("triggered") == slices);
  CHECK(end.summary.count("stored") == slices / 2);
  CHECK(end.summary.count("rejected") == slices / 2);
  CHECK(end.summary.count("stored_incomplete") == 0);
  const StoredRun run(folder / "out");
  CHECK(run.ids().size() == slices / 2);
  for (const std::uint64_t id : run.ids()) CHECK(id % 2 == 0);
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == slices / 2 * 8);
}

}  // namespace

TEST_CASE("built slices move to the group that fetches them, and the readouts send none of them twice") {
  const TemporaryFolder folder;
  FarmRun run(folder, fetching_farm(folder), {"--slices", "1000"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_half_forwarded(folder, end, 1000);
  CHECK(end.summary.count("fetch.slices") == 500);
  CHECK(end.summary.count("fetch.fragments") == 500 * 8);
  CHECK(end.summary.count("fetch.fragments_sent") == 500 * 8);
  CHECK(end.summary.count("fetch.from_readouts") == 0);
  CHECK(end.out.find("received from DCMs, sent by DCMs") != std::string::npos);
}

TEST_CASE("a farm with a group that fetches loses no slice when DCMs of both groups and the supervisor die") {
  const TemporaryFolder folder;
  FarmRun run(folder, fetching_farm(folder), {"--slices", "4000"});
  REQUIRE(run.wait_for_data(200'000));
  REQUIRE(run.send_signal("near-1", SIGKILL));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("far-0", SIGKILL));
  REQUIRE(run.wait_for_data(800'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  REQUIRE(run.wait_for_data(1'500'000));
  REQUIRE(run.send_signal("near-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_half_forwarded(folder, end, 4000);
  CHECK(end.summary.count("fetch.slices") > 0);
}

TEST_CASE("a line that fails costs a remote group that fetches time, and no slice or fragment") {
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
