// Links that go down under real processes, in a virtual network. Needs root; without it, each test says
// SKIPPED.
#include "farm_run.hpp"
#include "needs_root.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;

// Drops what passes the data interface of a node's host, so that TCP hears nothing of it.
class Line {
 public:
  Line(const TemporaryFolder& folder, const FarmRun& run, const std::string& node)
      : folder_(folder), pid_(run.pid_of(node)) {}

  bool cut(const std::string& direction) {
    if (!prepared_ && !tc("qdisc add dev data clsact")) return false;
    prepared_ = true;
    return tc("filter add dev data " + direction + " bpf direct-action bytecode '1,6 0 0 2,'");
  }
  bool mend() {
    prepared_ = false;
    return tc("qdisc del dev data clsact");
  }

 private:
  bool tc(const std::string& words) {
    const std::string command = "nsenter --net=/proc/" + std::to_string(pid_) + "/ns/net tc " + words;
    Process process({"/bin/sh", "-c", command}, folder_ / "tc.out", folder_ / "tc.err");
    const auto status = process.wait(Seconds(10));
    INFO(command << "\n" << process.err());
    CHECK(status == 0);
    return status == 0;
  }

  const TemporaryFolder& folder_;
  pid_t pid_;
  bool prepared_ = false;
};

// Four readouts on h0 to h3, DCMs on h4 and h5; the writer is beside the network. As fast as there is room.
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
  Line line(folder, run, "dcm-1");
  for (const std::string& direction : directions) REQUIRE(line.cut(direction));
  CHECK(run.wait_for_log("supervisor", "dcm 1 does not reach", Seconds(5)));
  std::this_thread::sleep_for(Seconds(4));
  REQUIRE(line.mend());
  // TCP waits for as long as the line was dead, and a connection that is made anew for no longer than this.
  CHECK(run.wait_for_log("supervisor", "dcm 1 is given slices again", Seconds(30)));
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
  CHECK(names_fault(end, "dcm 1 does not reach readout 0, readout 1, readout 2, readout 3"));
  CHECK(names_fault(end, "slice(s) were given to others meanwhile"));
}

}  // namespace

TEST_CASE(
    "a DCM whose link to the readouts goes down gives its slices to the other, and none is incomplete") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_with_a_cut(folder, {"ingress", "egress"});
  check_that_others_built_all(end);
}

TEST_CASE("a DCM to which nothing comes through any more is cut off, and none of its slices is incomplete") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  const FarmEnd end = run_with_a_cut(folder, {"ingress"});
  check_that_others_built_all(end);
}
