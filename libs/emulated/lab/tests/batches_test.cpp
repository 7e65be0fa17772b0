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

TEST_CASE("a port with rings has a class of frames for each host with DCMs, and one for other traffic") {
  const LabPlan plan = plan_of(
      "topology: racks\nport_rate: unlimited\nburst: 4k\nport_queue: per-dcm\nring_packets: 32\nring_rate: "
      "40mbit\nracks: {count: 2, uplink_rate: 90mbit, uplink_buffer: 100k}\n"
      "hosts: [{name: r, nodes: [readout-0], attached: 1}, {name: a, nodes: [dcm-0], attached: 2}, "
      "{name: b, nodes: [dcm-1], attached: 2}]\n",
      "dcm: {count: 2}\n");
  const std::string tc = lines(plan, kSwitches, Tool::tc);
  CHECK_THAT(
      tc,
      Catch::ContainsSubstring(
          "qdisc add dev core.rack2 root handle 1: htb default 2\n"
          "class add dev core.rack2 parent 1: classid 1:1 htb rate 90000000bit ceil 90000000bit burst 4096 "
          "cburst 4096 quantum 1514 overhead 24 mpu 84\n"
          "class add dev core.rack2 parent 1:1 classid 1:2 htb rate 30000000bit ceil 90000000bit burst 4096 "
          "cburst 4096 quantum 1514 overhead 24 mpu 84\n"
          "qdisc add dev core.rack2 parent 1:2 bfifo limit 102400\n"
          "class add dev core.rack2 parent 1:1 classid 1:10 htb rate 30000000bit ceil 40000000bit burst 4096 "
          "cburst 4096 quantum 1514 overhead 24 mpu 84\n"
          "qdisc add dev core.rack2 parent 1:10 pfifo limit 32\n"
          "filter add dev core.rack2 parent 1: protocol ip prio 1 u32 match ip dst 10.77.1.2/32 flowid "
          "1:10\n"));
  CHECK_THAT(tc, Catch::ContainsSubstring("match ip dst 10.77.1.3/32 flowid 1:11\n"));
  // No DCM receives through these.
  CHECK_THAT(tc, Catch::ContainsSubstring("qdisc add dev core.rack1 root handle 1: tbf"));
  CHECK_THAT(tc, Catch::ContainsSubstring("qdisc add dev rack2.core root handle 1: tbf"));
}

TEST_CASE("with back-pressure no bridge and no limit of the kernel carries the data network") {
  const LabPlan plan =
      plan_of("topology: racks\nhost_count: 2\nhost_rate: 1gbit\nracks: {count: 2}\nback_pressure: pause\n");
  CHECK(lines(plan, kSwitches, Tool::ip) == "link set lo up\n");
  CHECK(lines(plan, kSwitches, Tool::bridge).empty());
  CHECK(lines(plan, kSwitches, Tool::tc).empty());
  CHECK(lines(plan, kFirstHost, Tool::tc).empty());
  CHECK_THAT(lines(plan, kFirstHost, Tool::ip),
             Catch::ContainsSubstring("tuntap add dev data mode tap\nlink set dev data mtu 1500 txqueuelen "
                                      "10000 address 02:77:00:00:00:01 up\n") &&
                 !Catch::ContainsSubstring("gso_max_segs"));
}

TEST_CASE("the core's end of an uplink may have another buffer") {
  const LabPlan plan =
      plan_of("topology: racks\nhost_count: 2\nracks: {count: 2, uplink_buffer: 200k, core_buffer: 30k}\n");
  CHECK(find_port(plan, "rack1>core")->buffer_bytes == 200 * 1024);
  CHECK(find_port(plan, "core>rack1")->buffer_bytes == 30 * 1024);
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

TEST_CASE("a slow card queues what its host receives after the port, and drops at its own buffer") {
  const LabPlan plan = plan_of(
      "hosts: [{name: a, nic_rate: 40mbit, loss: 0.5}, {name: b}]\nport_rate: 50mbit\nnic_buffer: 20k\n");
  const Port* card = find_port(plan, "nic>a");
  REQUIRE(card != nullptr);
  CHECK(card->space == kFirstHost);
  CHECK(card->rate_bits_per_s == 40'000'000);
  CHECK(find_port(plan, "nic>b") == nullptr);
  CHECK_THAT(lines(plan, kFirstHost, Tool::ip),
             Catch::ContainsSubstring("link add name nic mtu 1500 type ifb\nlink set dev nic up\n"));
  CHECK_THAT(
      lines(plan, kFirstHost, Tool::tc),
      Catch::Matchers::StartsWith("qdisc add dev nic root handle 1: tbf rate 40000000bit burst 16384 limit "
                                  "20480 overhead 24 mpu 84\n"
                                  "qdisc add dev data clsact\nfilter add dev data ingress prio 1 bpf") &&
          Catch::Matchers::EndsWith(
              "filter add dev data ingress prio 3 u32 match u32 0 0 action mirred egress "
              "redirect dev nic\n"));
  CHECK(lines(plan, kFirstHost + 1, Tool::tc).empty());
  CHECK(problems_of("hosts: [{name: nic}]\n") ==
        "lab.yaml:1: lab.hosts: 'nic' cannot be a host's name: the lab uses it");
  CHECK_THAT(problems_of("host_count: 2\nhost_rate: 50mbit\nback_pressure: pause\nnic_rate: 40mbit\n"),
             Catch::ContainsSubstring("lab.nic_rate: of h0 is not for back_pressure: its card drops frames"));
}

TEST_CASE("both ends of a link with a delay are TAP devices, and its port is limited as any other") {
  const LabPlan plan = plan_of("hosts: [{name: a, delay_ms: 3}, {name: b}]\nport_rate: 200mbit\n");
  const std::string links = lines(plan, kSwitches, Tool::ip);
  CHECK_THAT(links,
             Catch::ContainsSubstring("tuntap add dev a mode tap\nlink set dev a mtu 1500 txqueuelen 10000 "
                                      "master switch up\nlink add name b mtu 1500 type veth"));
  CHECK_THAT(
      lines(plan, kFirstHost, Tool::ip),
      Catch::ContainsSubstring("tuntap add dev data mode tap\nlink set dev data mtu 1500 txqueuelen 10000 "
                               "address 02:77:00:00:00:01 up\n"));
  CHECK_THAT(lines(plan, kFirstHost + 1, Tool::ip), !Catch::ContainsSubstring("tuntap"));
  CHECK_THAT(lines(plan, kSwitches, Tool::tc),
             Catch::ContainsSubstring("qdisc add dev a root handle 1: tbf"));
}

TEST_CASE("switches and hosts have static tables: nothing is resolved or flooded") {
  const LabPlan plan = plan_of("host_count: 2\n");
  const std::string links = lines(plan, kSwitches, Tool::ip);
  CHECK_THAT(links,
             Catch::ContainsSubstring("link add name h0 mtu 1500 type veth peer name data mtu 1500 address "
                                      "02:77:00:00:00:01 netns /ns/2\nlink set dev h0 master switch up\n"));
  const std::string forwards = lines(plan, kSwitches, Tool::bridge);
  CHECK_THAT(forwards, Catch::ContainsSubstring("link set dev h1 learning off flood off"));
  CHECK_THAT(forwards, Catch::ContainsSubstring("fdb replace 02:77:00:00:00:02 dev h1 master static\n"));
  CHECK_THAT(
      lines(plan, kFirstHost, Tool::ip),
      Catch::ContainsSubstring("neigh add 10.77.1.2 lladdr 02:77:00:00:00:02 dev data nud permanent\n"));
}

TEST_CASE("a host has an interface in each plane, and static tables there") {
  const LabPlan plan = plan_of("host_count: 2\nplanes: 2\n");
  CHECK_THAT(
      lines(plan, kSwitches, Tool::ip),
      Catch::ContainsSubstring("link add name h0-b mtu 1500 type veth peer name data-b mtu 1500 address "
                               "02:79:00:00:00:01 netns /ns/2\nlink set dev h0-b master switchb up\n"));
  CHECK_THAT(lines(plan, kSwitches, Tool::bridge),
             Catch::ContainsSubstring("fdb replace 02:79:00:00:00:02 dev h1-b master static\n"));
  const std::string host = lines(plan, kFirstHost, Tool::ip);
  CHECK_THAT(host, Catch::ContainsSubstring("addr add 10.79.1.1/16 dev data-b\n"));
  CHECK_THAT(host, Catch::ContainsSubstring(
                       "neigh add 10.79.1.2 lladdr 02:79:00:00:00:02 dev data-b nud permanent\n"));
  CHECK(cut_lines({0, 0, "", {"switchb", "h0"}}, true) ==
        "link set dev switchb down\nlink set dev h0 down\n");
}

TEST_CASE("a static congestion window is in the hosts' route") {
  const LabPlan plan = plan_of("host_count: 2\nwindow_segments: 4\n");
  CHECK_THAT(lines(plan, kFirstHost, Tool::ip),
             Catch::ContainsSubstring(
                 "route replace 10.77.0.0/16 dev data scope link src 10.77.1.1 cwnd lock 4 initcwnd 4\n"));
}

}  // namespace
}  // namespace weir::lab
