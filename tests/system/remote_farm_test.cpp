// Farms with a remote group of DCMs: behind a long line that fails (needs root; without it ctest shows
// SKIPPED), and behind gateways that translate addresses.
#include "farm_run.hpp"
#include "gateway.hpp"
#include "needs_root.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 1200;

// The remote group of configs/remote-farm.yaml with this lease.
std::string farm_with_lease(const TemporaryFolder& folder, const std::string& lease_ms) {
  std::ifstream file(config_file("remote-farm.yaml"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string key = "lease_ms: 30000";
  REQUIRE(text.find(key) != text.npos);
  text.replace(text.find(key), key.size(), "lease_ms: " + lease_ms);
  return folder.write("remote-farm.yaml", text);
}

FarmEnd run_with_outages(const TemporaryFolder& folder, const std::string& lease_ms,
                         const std::string& outages) {
  std::vector<std::string> arguments = sets({"run.duration_s=0", "trigger.rate_hz=120"});
  arguments.insert(arguments.end(), {"--lab", config_file("lab/remote-farm.yaml"), "--slices",
                                     std::to_string(kSlices), "--set", "lab.wan.outages=" + outages});
  FarmRun run(folder, farm_with_lease(folder, lease_ms), arguments);
  return run.finish(Seconds(180));
}

void check_nothing_lost(const TemporaryFolder& folder, const FarmEnd& end) {
  INFO(describe(end));
  CHECK((end.status == 0 || end.status == 3));  // 3: slices were assigned again
  CHECK(end.summary.balanced());
  CHECK(end.summary.count("triggered") == kSlices);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(end.summary.count("stored_incomplete") == 0);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  const Summary remote = end.summary.group("remote");
  CHECK(remote.count("arrived") == end.summary.group("local").count("forwarded"));
  CHECK(remote.count("stored") == remote.count("arrived"));
  const StoredRun stored(folder / "out");
  const DummyCheck check = check_dummy_data(stored);
  CHECK(check.wrong == "");
  CHECK(check.fragments == remote.count("stored") * 16);
}

}  // namespace

TEST_CASE("a line that fails for seconds costs a remote group time, and no slice or fragment", "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end =
      run_with_outages(folder, "30000", "[{at_s: 1, for_s: 0.4}, {at_s: 2, for_s: 1}, {at_s: 4, for_s: 4}]");
  CHECK(end.summary.json().at("outages").as_array().size() == 3);
  check_nothing_lost(folder, end);
}

TEST_CASE("a line that fails for longer than the lease delays the remote slices until it is back", "[.lab]") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_with_outages(folder, "1000", "[{at_s: 1, for_s: 8}]");
  check_nothing_lost(folder, end);
  CHECK(end.summary.group("remote").count("reassigned") > 0);
}

TEST_CASE("a remote DCM connects to the addresses that gateways announce, a local one past them") {
  const TemporaryFolder folder;
  const Gateway readout;
  const Gateway writer;
  const std::string file = folder.write(
      "farm.yaml",
      "farm: gateways\n"
      "trigger: {mode: rate, rate_hz: 500}\n"
      "readout: {nodes: [{name: readout-0, sources_per_readout: 2, listen: '127.0.0.1:" +
          readout.inside() + "', announce: '127.0.0.1:" + readout.outside() +
          "'}]}\n"
          "writer: {nodes: [{name: writer-0, listen: '127.0.0.1:" +
          writer.inside() + "', announce: '127.0.0.1:" + writer.outside() +
          "'}]}\n"
          "dcm:\n"
          "  nodes: [{name: near, group: near}, {name: far, group: far}]\n"
          "  groups:\n"
          "    - {name: near, forward: [far], filter: {plugin: sequential, parameters: {steps: 1, "
          "sources_per_step: 2, reject: 0.5, forward: far}}}\n"
          "    - {name: far, remote: true}\n");
  FarmRun run(folder, file, {"--slices", "500"});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.group("far").count("stored") > 100);
  CHECK(run.log("far").find("peer=127.0.0.1:" + readout.outside()) != std::string::npos);
  CHECK(run.log("near").find("peer=127.0.0.1:" + readout.inside()) != std::string::npos);
  CHECK(readout.connections() == 1);
  CHECK(writer.connections() == 1);
}
