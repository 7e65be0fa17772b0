// Farms with two groups of DCMs: one selects and forwards, the other builds.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

// Of four slices the first group accepts one, rejects one and forwards two, of which the second accepts one.
std::string half_forwarded(const TemporaryFolder& folder, const std::string& isolation) {
  const std::string plugin = std::string(WEIR_SYSTEM_PLUGIN_DIR) + "/stumbles.so";
  std::string file = folder / "split.yaml";
  std::ofstream(file) << "farm: split\n"
                         "trigger: {mode: rate, rate_hz: 1000}\n"
                         "supervisor: {status_interval_ms: 100}\n"
                         "readout: {count: 2, sources_per_readout: 4}\n"
                         "filter: {plugin: '"
                      << plugin << "', isolation: " << isolation
                      << "}\n"
                         "dcm:\n"
                         "  nodes:\n"
                         "    - {name: 'selection-{i}', count: 2, group: selection}\n"
                         "    - {name: 'building-{i}', count: 2, group: building}\n"
                         "  groups:\n"
                         "    - name: selection\n"
                         "      forward: [building]\n"
                         "      filter: {parameters: {to: building}}\n"
                         "    - name: building\n";
  return file;
}

void check_half_forwarded(const TemporaryFolder& folder, const FarmEnd& end, std::uint64_t slices) {
  CHECK(end.summary.count("triggered") == slices);
  CHECK(end.summary.count("stored") == slices / 2);
  CHECK(end.summary.count("rejected") == slices / 2);
  const StoredRun run(folder / "out");
  CHECK(run.ids().size() == slices / 2);
  for (const std::uint64_t id : run.ids()) CHECK(id % 2 == 0);
  const DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.fragments == slices / 2 * 8);
  CHECK(end.summary.group("selection").count("forwarded") == slices / 2);
  CHECK(end.summary.group("building").count("arrived") == slices / 2);
  CHECK(end.summary.group("building").count("stored") == slices / 4);
}

}  // namespace

TEST_CASE("the split farm of configs stores forwarded slices whole") {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = sets({"trigger.rate_hz=800"});
  arguments.insert(arguments.end(), {"--slices", "800"});
  FarmRun run(folder, config_file("rcnp-split-farm.yaml"), arguments);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  const Summary selection = end.summary.group("selection");
  const Summary building = end.summary.group("event-filter");
  CHECK(selection.count("arrived") == 800);
  CHECK(selection.count("forwarded") > 0);
  CHECK(selection.count("rejected") + selection.count("forwarded") == 800);
  CHECK(building.count("arrived") == selection.count("forwarded"));
  CHECK(building.count("stored") == building.count("arrived"));
  // 10 ms of CPU time, which no decision of the selection waits for.
  CHECK(building.count("decision_latency_us.p50") >= 10'000);
  CHECK(selection.count("decision_latency_us.count") == 800);
  CHECK(end.summary.count("readout_slices_peak") > 0);
  const StoredRun stored(folder / "out");
  const DummyCheck check = check_dummy_data(stored);
  CHECK(check.wrong == "");
  CHECK(check.fragments == building.count("stored") * 44);
}

TEST_CASE("a split farm with filters in workers forwards the same slices with the same bytes") {
  const TemporaryFolder folder;
  FarmRun run(folder, half_forwarded(folder, "worker"), {"--slices", "1000"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_half_forwarded(folder, end, 1000);
}

TEST_CASE("a split farm loses no slice when DCMs of both groups and the supervisor die") {
  const TemporaryFolder folder;
  FarmRun run(folder, half_forwarded(folder, "in-process"), {"--slices", "3000"});
  REQUIRE(run.wait_for_data(200'000));
  REQUIRE(run.send_signal("selection-1", SIGKILL));
  REQUIRE(run.wait_for_data(400'000));
  REQUIRE(run.send_signal("building-0", SIGKILL));
  REQUIRE(run.wait_for_data(600'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  REQUIRE(run.wait_for_data(900'000));
  REQUIRE(run.send_signal("building-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_half_forwarded(folder, end, 3000);
}
