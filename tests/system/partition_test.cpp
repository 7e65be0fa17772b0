// Tests of links that fail under real processes in a virtual network, also at random (WEIR_SOAK_PARTITIONS, 5
// cuts; WEIR_SOAK_SEED). Needs root; without it ctest shows SKIPPED.
#include "lab_lines.hpp"
#include "needs_root.hpp"
#include "soak.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;

// Four readouts on h0 to h3, DCMs on h4 and h5; the writer is outside the network. Slices are triggered as
// fast as the farm has room.
std::vector<std::string> as_fast_as_there_is_room() {
  return {"--lab", config_file("lab/star-8.yaml"), "--duration", "60", "--set", "dcm.credits=32"};
}

bool names_fault(const FarmEnd& end, const std::string& text) {
  const auto& faults = end.summary.json().at("faults").as_array();
  return std::any_of(faults.begin(), faults.end(), [&](const auto& fault) {
    return std::string(fault.as_string()).find(text) != std::string::npos;
  });
}

// The data of dcm-1 are cut off so for 4 s.
FarmEnd run_with_a_cut(const TemporaryFolder& folder, const std::vector<std::string>& directions) {
  FarmRun run(folder, config_file("event-building.yaml"), as_fast_as_there_is_room());
  REQUIRE(run.wait_for_data(1 << 20));
  LabLines lines(folder, run, "dcm-1");
  for (const std::string& direction : directions) lines.cut(direction);
  CHECK(run.wait_for_log("supervisor", "dcm-1 does not reach", Seconds(20)));
  std::this_thread::sleep_for(Seconds(4));
  lines.mend();
  // TCP waits for as long as the outage lasted, and a new connection for at most this long.
  CHECK(run.wait_for_log("supervisor", "dcm-1 gets slices again", Seconds(30)));
  std::this_thread::sleep_for(Seconds(1));
  run.process().send_signal(SIGINT);
  return run.finish();
}

void check_that_others_built_all(const FarmEnd& end) {
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") > 1000);
  CHECK(end.summary.count("stored_incomplete") == 0);
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(names_fault(end, "dcm-1 did not reach readout-0, readout-1, readout-2, readout-3"));
  CHECK(names_fault(end, "built by others meanwhile"));
}

constexpr int kCutsARun = 12;
constexpr const char* kFarm =
    "farm: partitions\n"
    "run: {restart: on-failure, restarts_max: 100000, drain_timeout_s: 60}\n"
    "trigger: {mode: max}\n"
    "source: {kind: dummy, distribution: exponential, size_bytes: 900}\n"
    "readout: {count: 4, sources_per_readout: 2, buffer_bytes: 64MiB}\n"
    "supervisor: {status_interval_ms: 200, in_flight_max: 2000}\n"
    "dcm: {count: 3, credits: 32, buffer_bytes: 64MiB}\n"
    "filter: {plugin: verify}\n"
    "writer: {count: 2, sync_interval_ms: 50}\n"
    "network: {reconnect_ms: 50}\n";
constexpr const char* kLab =
    "lab: partitions\n"
    "topology: star\n"
    "host_count: 9\n"
    "port_rate: 1gbit\n"
    "port_buffer: 100k\n"
    "hosts:\n"
    "  - {name: w0, nodes: [writer-0]}\n"
    "  - {name: w1, nodes: [writer-1]}\n";
constexpr const char* kNodes[] = {"readout-0", "readout-1", "readout-2", "readout-3", "dcm-0",
                                  "dcm-1",     "dcm-2",     "writer-0",  "writer-1",  "supervisor"};

// Cuts the link between two nodes, in one or both directions, or a host's data network. The supervisor has no
// host.
void cut_at_random(std::vector<std::unique_ptr<LabLines>>& lines, Random& random) {
  LabLines& one = *lines[random.below(lines.size() - 1)];
  const std::size_t directions = 1 + random.below(3);
  const bool all = random.below(4) == 0;
  const LabLines& other = *random.one_of(lines);
  for (const char* direction : {"ingress", "egress"}) {
    if ((directions & (direction[0] == 'i' ? 1U : 2U)) == 0) continue;
    if (all || &one == &other)
      one.cut(direction);
    else
      one.cut(direction, other);
  }
}

}  // namespace

TEST_CASE("whichever nodes do not reach each other for a while, no slice is lost, doubled or wrong") {
  NEEDS_ROOT();
  const int cuts = from_environment("WEIR_SOAK_PARTITIONS", 5);
  Random random(from_environment("WEIR_SOAK_SEED", 1));
  for (int done = 0; done < cuts;) {
    const TemporaryFolder folder;
    FarmRun run(folder, folder.write("farm.yaml", kFarm), {"--lab", folder.write("lab.yaml", kLab)});
    REQUIRE(run.wait_for_data(1 << 20));
    std::vector<std::unique_ptr<LabLines>> lines;
    for (const char* node : kNodes) lines.push_back(std::make_unique<LabLines>(folder, run, node));
    int kills = 0;
    for (int i = 0; i < kCutsARun && done < cuts; ++i, ++done) {
      cut_at_random(lines, random);
      (void)wait_until([] { return false; }, random.between(0.1, 4));
      if (random.below(4) == 0) {
        const pid_t pid = run.pid_of(random.one_of(kNodes));
        if (pid != 0 && ::kill(pid, SIGKILL) == 0) ++kills;
      }
      // Another line may be cut while this one is.
      if (random.below(3) == 0) continue;
      for (const auto& host : lines) host->mend();
      (void)wait_until([] { return false; }, random.between(0.1, 2));
    }
    for (const auto& host : lines) host->mend();
    run.process().send_signal(SIGINT);
    const FarmEnd end = run.finish(Seconds(180));
    CHECK((end.status == 3 || (end.status == 0 && kills == 0)));
    const DummyCheck check = check_all_stored(folder, end, run.out());
    std::printf("soak: %d cuts, %d killed, status %d, %llu slices stored, %llu of %llu fragments missing\n",
                done, kills, end.status, static_cast<unsigned long long>(end.summary.count("stored")),
                static_cast<unsigned long long>(check.missing),
                static_cast<unsigned long long>(check.missing + check.fragments));
    std::fflush(stdout);
  }
}

TEST_CASE("a DCM that loses its link to the readouts gives its slices to the other, and each is complete") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_with_a_cut(folder, {"ingress", "egress"});
  check_that_others_built_all(end);
}

TEST_CASE("a DCM that receives no data any more is cut off, and none of its slices is incomplete") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_with_a_cut(folder, {"ingress"});
  check_that_others_built_all(end);
}
