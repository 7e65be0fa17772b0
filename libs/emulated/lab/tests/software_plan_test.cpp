#include "lab_text.hpp"
#include <weir/lab/batches.hpp>
#include <weir/lab/software_plan.hpp>

#include <algorithm>
#include <set>

namespace weir::lab {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr const char* kFarm = "readout: {count: 3}\ndcm: {count: 6}\nwriter: {count: 1}\n";

std::string all_lines(const LabPlan& plan) {
  std::string lines;
  for (const Batch& batch : set_up_batches(plan, std::vector<std::string>(plan.spaces(), "/proc/1/ns/net")))
    lines += batch.lines;
  return lines;
}

TEST_CASE("each DCM has an address of its own, from which it connects") {
  const LabPlan plan = plan_of("placement: together\nhost_count: 3\naddresses: per-dcm\n", kFarm);
  CHECK(plan.hosts[1].dcm_addresses == std::vector<std::string>{"10.77.128.3", "10.77.128.4"});
  CHECK(plan.places.at("dcm-3").sources == std::vector<std::string>{"10.77.128.4/16"});
  CHECK(plan.places.at("readout-1").sources.empty());
  const std::string lines = all_lines(plan);
  CHECK_THAT(lines, ContainsSubstring("addr add 10.77.128.4/16 dev data"));
  CHECK_THAT(lines, ContainsSubstring("neigh add 10.77.128.4 lladdr 02:77:00:00:00:02"));
}

TEST_CASE("rings of the kernel are one for each address of DCMs") {
  const std::string lab = "placement: together\nhost_count: 3\nport_queue: per-dcm\n";
  CHECK(find_port(plan_of(lab, kFarm), "switch>h1")->rings == std::vector<std::string>{"10.77.1.2"});
  CHECK(find_port(plan_of(lab + "addresses: per-dcm\n", kFarm), "switch>h1")->rings ==
        std::vector<std::string>{"10.77.128.3", "10.77.128.4"});
}

TEST_CASE("a software switch has a ring for each DCM, and routes to the other addresses") {
  const LabPlan plan = plan_of(
      "placement: together\nhost_count: 3\naddresses: per-dcm\nswitches: software\nport_queue: per-dcm\n"
      "ring_packets: 100\nring_rate: 10mbit\nport_rate: 50mbit\nport_buffer: 30280\n",
      kFarm);
  const auto switches = software_switches(plan);
  REQUIRE(switches.size() == 1);
  const auto& settings = switches[0].settings;
  CHECK(settings.machine.queueing == switching::Queueing::rings);
  REQUIRE(settings.machine.rings.size() == 6);
  CHECK(settings.machine.rings[3].address == 0x0a4d8004);
  CHECK(settings.machine.rings[3].via == 1);
  CHECK(settings.machine.rings[3].frames_max == 100);
  CHECK(settings.machine.rings[3].bits_per_s == 10'000'000);
  CHECK(settings.machine.routes.size() == 3);
  CHECK(settings.interfaces[1].device == "h1");
  CHECK(settings.interfaces[1].transmit_frames == 20);
  CHECK(plan.ports[switches[0].ports[1]].name == "switch>h1");
}

TEST_CASE("a software switch needs no bridge and no class of htb, and its kernel queue drops nothing") {
  const LabPlan plan =
      plan_of("host_count: 9\nswitches: software\nport_queue: per-dcm\nport_buffer: 100k\n", kFarm);
  const std::string lines = all_lines(plan);
  CHECK(lines.find("type bridge mcast_snooping 0 stp_state 0\n") == lines.find("type bridge"));  // of control
  CHECK(lines.find("htb") == lines.npos);
  CHECK_THAT(lines, ContainsSubstring("limit 466944"));
}

TEST_CASE("each switch of leaves and spines has all addresses, over the spine of the host") {
  const LabPlan plan = plan_of(
      "topology: leaf-spine\nplacement: together\nhost_count: 4\naddresses: per-dcm\nswitches: software\n"
      "port_queue: per-dcm\nleaf_spine: {leaves: 2, spines: 2}\n",
      "readout: {count: 4}\ndcm: {count: 4}\nwriter: {count: 1}\n");
  const auto switches = software_switches(plan);
  REQUIRE(switches.size() == 4);
  for (const SoftwareSwitch& one : switches) {
    CHECK_FALSE(switching::problem_of(one.settings.machine).has_value());
    CHECK(one.settings.machine.rings.size() == 4);
    CHECK(one.settings.machine.routes.size() == 4);
  }
  // The first leaf reaches the two hosts of the other one by two spines.
  std::set<std::size_t> ways;
  for (const auto& ring : switches[0].settings.machine.rings) ways.insert(ring.via);
  CHECK(ways.size() == 4);
}

TEST_CASE("a slow card behind a software switch is a machine between its link and its host") {
  const std::string lab =
      "hosts: [{name: a}, {name: b, nic_rate: 40mbit}]\nswitches: software\nport_rate: 50mbit\n"
      "port_buffer: 12k\nnic_buffer: 48k\n";
  CHECK(software_switches(plan_of(lab))[1].settings.machine.ports[0].pause_bytes == 0);
  const LabPlan plan = plan_of(lab + "nic_pauses: true\n");
  const Port* exit = find_port(plan, "nic>b");
  REQUIRE(exit != nullptr);
  CHECK(exit->space == kSwitches);
  CHECK(exit->device == "b.to");
  const std::string lines = all_lines(plan);
  CHECK_THAT(lines, ContainsSubstring("link add name b.to mtu 1500 type veth peer name data") &&
                        ContainsSubstring("link add name b mtu 1500 type veth peer name b.in mtu 1500") &&
                        ContainsSubstring("qdisc add dev b.to root handle 1: tbf rate 40000000bit") &&
                        !ContainsSubstring("ifb"));
  const auto switches = software_switches(plan);
  REQUIRE(switches.size() == 2);
  CHECK_FALSE(switches[0].is_card);
  CHECK(switches[0].settings.interfaces[1].device == "b");
  CHECK(switches[0].settings.machine.ports[1].obeys_pauses);
  CHECK(switches[1].is_card);
  const auto& card = switches[1].settings;
  CHECK_FALSE(switching::problem_of(card.machine).has_value());
  CHECK(card.interfaces[0].device == "b.in");
  CHECK(card.interfaces[1].device == "b.to");
  CHECK(card.machine.other_frames == 48 * 1024 / 1514);
  CHECK(card.machine.ports[0].pause_bytes == 24 * 1024);
  CHECK(card.machine.ports[0].bits_per_s == 50'000'000);
  REQUIRE(card.machine.routes.size() == 2);
  CHECK(card.machine.routes[0].via == 0);
  CHECK(card.machine.routes[1].via == 1);
}

TEST_CASE("a card cannot pause a port without a rate, or with a longer queue than it has room") {
  const std::string lab = "hosts: [{name: a}, {name: b, nic_rate: 40mbit}]\nnic_pauses: true\n";
  CHECK_THAT(problems_of(lab), ContainsSubstring("nic_pauses: needs switches: software"));
  CHECK_THAT(problems_of(lab + "switches: software\nport_rate: unlimited\n"),
             ContainsSubstring("needs a port_rate of b"));
  CHECK_THAT(problems_of(lab + "switches: software\nport_buffer: 17k\nnic_buffer: 64k\n"),
             ContainsSubstring("needs a nic_buffer of four times the port_buffer of b"));
  CHECK_THAT(problems_of("host_count: 2\nnic_pauses: true\nswitches: software\n"),
             ContainsSubstring("needs hosts with a nic_rate"));
}

TEST_CASE("what software switches do not have is refused by name") {
  const std::string lab = "host_count: 9\nswitches: software\n";
  CHECK_THAT(problems_of(lab + "delay_ms: 1\n", kFarm),
             ContainsSubstring("cannot be software on links with a delay"));
  CHECK_THAT(problems_of(lab + "topology: wan\n", kFarm),
             ContainsSubstring("cannot be software in the topology wan"));
  CHECK_THAT(problems_of(lab + "offloads: all\n", kFarm), ContainsSubstring("need frames of the wire"));
  CHECK_THAT(problems_of(lab + "back_pressure: pause\nhost_rate: 1gbit\n", kFarm),
             ContainsSubstring("back_pressure has switches of its own"));
  CHECK_THAT(problems_of("host_count: 9\nport_queue: one\n", kFarm),
             ContainsSubstring("needs switches: software"));
  CHECK_THAT(problems_of("host_count: 9\nmark_packets: 5\n", kFarm),
             ContainsSubstring("needs switches: software"));
}

}  // namespace
}  // namespace weir::lab
