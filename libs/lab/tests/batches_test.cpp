#include "lab_text.hpp"
#include <weir/lab/batches.hpp>

namespace weir::lab {
namespace {

std::vector<std::string> paths_of(const LabPlan& plan) {
  std::vector<std::string> paths;
  for (Space space = 0; space < plan.spaces(); ++space) paths.push_back("/ns/" + std::to_string(space));
  return paths;
}

std::string lines(const LabPlan& plan, Space space, Tool tool) {
  for (const Batch& batch : set_up_batches(plan, paths_of(plan))) {
    if (batch.space == space && batch.tool == tool) return batch.lines;
  }
  return {};
}

TEST_CASE("a port counts Ethernet's whole frame") {
  const LabPlan plan = plan_of("hosts: [{name: a}]\nport_rate: 200mbit\nport_buffer: 100k\nburst: 16k\n");
  CHECK(lines(plan, kSwitches, Tool::tc) ==
        "qdisc add dev a root handle 1: tbf rate 200000000bit burst 16384 limit 102400 overhead 24 mpu 84\n");
}

TEST_CASE("a host's sending is limited at the host, and its TCP makes no longer packets than frames") {
  const LabPlan plan = plan_of("hosts: [{name: a}]\nhost_rate: 50mbit\nport_rate: unlimited\n");
  CHECK(lines(plan, kSwitches, Tool::tc).empty());
  CHECK(lines(plan, kFirstHost, Tool::tc) ==
        "qdisc add dev data root handle 1: tbf rate 50000000bit burst 16384 limit 4194304 overhead 24 mpu "
        "84\n");
  CHECK_THAT(lines(plan, kFirstHost, Tool::ip), Catch::ContainsSubstring("link set data gso_max_segs 1\n"));
  const LabPlan free = plan_of("hosts: [{name: a}]\n");
  CHECK_THAT(lines(free, kFirstHost, Tool::ip), !Catch::ContainsSubstring("gso_max_segs"));
}

TEST_CASE("switches and hosts have static tables: nothing is resolved or flooded") {
  const LabPlan plan = plan_of("host_count: 2\n");
  const std::string links = lines(plan, kSwitches, Tool::ip);
  CHECK_THAT(links,
             Catch::ContainsSubstring("link add h0 mtu 1500 type veth peer name data mtu 1500 address "
                                      "02:77:00:00:00:01 netns /ns/2\nlink set h0 master switch up\n"));
  const std::string forwards = lines(plan, kSwitches, Tool::bridge);
  CHECK_THAT(forwards, Catch::ContainsSubstring("link set dev h1 learning off flood off"));
  CHECK_THAT(forwards, Catch::ContainsSubstring("fdb replace 02:77:00:00:00:02 dev h1 master static\n"));
  CHECK_THAT(
      lines(plan, kFirstHost, Tool::ip),
      Catch::ContainsSubstring("neigh add 10.77.1.2 lladdr 02:77:00:00:00:02 dev data nud permanent\n"));
}

TEST_CASE("a static congestion window is in the hosts' route") {
  const LabPlan plan = plan_of("host_count: 2\nwindow_segments: 4\n");
  CHECK_THAT(
      lines(plan, kFirstHost, Tool::ip),
      Catch::ContainsSubstring("route replace 10.77.0.0/16 dev data scope link src 10.77.1.1 cwnd lock 4\n"));
}

}  // namespace
}  // namespace weir::lab
