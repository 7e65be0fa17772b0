#include "lab_text.hpp"

namespace weir::lab {
namespace {

constexpr const char* kIncast = "readout: {count: 8}\ndcm: {count: 1}\nwriter: {count: 1}\n";

TEST_CASE("in a star each readout and each DCM has a host of its own, and a limited port to it") {
  const LabPlan plan = plan_of("host_count: 9\nport_rate: 1gbit\nport_buffer: 100k\n", kIncast);
  REQUIRE(plan.hosts.size() == 9);
  CHECK(plan.hosts[0].nodes == std::vector<std::string>{"readout-0"});
  CHECK(plan.hosts[8].nodes == std::vector<std::string>{"dcm-0"});
  CHECK(plan.hosts[8].has_dcm);
  REQUIRE(plan.ports.size() == 9);
  const Port* port = find_port(plan, "switch>h8");
  REQUIRE(port != nullptr);
  CHECK(port->rate_bits_per_s == 1'000'000'000);
  CHECK(port->buffer_bytes == 102'400);
  CHECK(port->space == kSwitches);
  CHECK(port->device == "h8");
}

TEST_CASE("nodes listen on the data network, supervisor and writers on the control network") {
  const LabPlan plan = plan_of("host_count: 9\n", kIncast);
  CHECK(plan.places.at("readout-3").address == "10.77.1.4");
  CHECK(plan.places.at("readout-3").space == kFirstHost + 3);
  CHECK(plan.places.at("writer-0").space == kControl);
  CHECK(plan.places.at("writer-0").address == control_address());
  CHECK(plan.places.at("supervisor").address == control_address());
  CHECK(plan.places.size() == 11);
}

TEST_CASE("hosts are as many as the farm needs when the lab does not say") {
  CHECK(plan_of("lab: x\n", kIncast).hosts.size() == 9);
  CHECK(plan_of("placement: together\n", "readout: {count: 6}\ndcm: {count: 4}\n").hosts.size() == 6);
  CHECK(problems_of("lab: x\n") ==
        "lab.yaml: lab.host_count: the lab has no hosts: name them in `hosts`, or say how many");
}

TEST_CASE("placed together, host i has readout i and its share of the DCMs") {
  const LabPlan plan = plan_of("host_count: 6\nplacement: together\nhost_rate: 50mbit\n",
                               "readout: {count: 6}\ndcm: {count: 12}\n");
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string first = std::to_string(2 * i);
    const std::string second = std::to_string(2 * i + 1);
    CHECK(plan.hosts[i].nodes ==
          std::vector<std::string>{"readout-" + std::to_string(i), "dcm-" + first, "dcm-" + second});
    CHECK(plan.hosts[i].own_port);
  }
  CHECK(plan.ports.size() == 12);
  const Port* uplink = find_port(plan, "h2>switch");
  REQUIRE(uplink != nullptr);
  CHECK(uplink->space == kFirstHost + 2);
  CHECK(uplink->device == "data");
}

TEST_CASE("a farm that does not fit is refused with what to do") {
  CHECK(problems_of("lab: x\nhost_count: 4\n", kIncast) ==
        "lab.yaml:2: lab.host_count: 8 readouts and 1 DCMs do not fit on 4 hosts, one on each: set "
        "lab.host_count, "
        "lab.placement=together, or name the nodes of each host");
}

TEST_CASE("nodes that a host names are there and nowhere else") {
  const LabPlan plan = plan_of("hosts:\n  - {name: a, nodes: [readout-0, dcm-0, writer-0]}\n  - {name: b}\n",
                               "readout: {count: 2}\ndcm: {count: 1}\n");
  CHECK(plan.hosts[0].nodes == std::vector<std::string>{"readout-0", "dcm-0", "writer-0"});
  CHECK(plan.hosts[1].nodes == std::vector<std::string>{"readout-1"});
  CHECK(plan.places.at("writer-0").address == "10.77.1.1");
}

TEST_CASE("a host's nodes are checked against the farm") {
  CHECK(problems_of("hosts: [{name: a, nodes: [dcm-7]}]\n", kIncast)
            .starts_with("lab.yaml:1: lab.hosts[0].nodes[0]: the farm has no node 'dcm-7'"));
  CHECK(problems_of("hosts: [{name: a, nodes: [dcm-0]}, {name: b, nodes: [dcm-0]}]\nhost_count: 10\n",
                    kIncast) == "lab.yaml:1: lab.hosts[1].nodes[0]: 'dcm-0' is on another host already");
  CHECK(problems_of("hosts: [{name: a, nodes: [supervisor]}]\nhost_count: 10\n", kIncast) ==
        "lab.yaml:1: lab.hosts[0].nodes[0]: the supervisor is on the control network, beside the hosts");
}

TEST_CASE("a host may differ from the lab") {
  const LabPlan plan = plan_of(
      "congestion_control: reno\nhosts:\n  - {name: slow, port_rate: 10mbit, port_buffer: 20k, offloads: "
      "all, "
      "congestion_control: bbr}\n  - {name: free, port_rate: unlimited}\n");
  CHECK(find_port(plan, "switch>slow")->rate_bits_per_s == 10'000'000);
  CHECK(find_port(plan, "switch>slow")->buffer_bytes == 20 * 1024);
  CHECK(find_port(plan, "switch>free") == nullptr);
  CHECK(plan.hosts[0].offloads == Offloads::all);
  CHECK(plan.hosts[0].congestion_control == "bbr");
  CHECK(plan.hosts[1].congestion_control == "reno");
}

TEST_CASE("names that the lab uses itself are no names for hosts") {
  CHECK(problems_of("hosts: [{name: switch}]\n") ==
        "lab.yaml:1: lab.hosts: 'switch' cannot be a host's name: the lab uses it");
  CHECK(problems_of("hosts: [{name: a}, {name: a}]\n") ==
        "lab.yaml:1: lab.hosts[1].name: there are two hosts 'a'");
  CHECK(problems_of("hosts: [{name: a-very-long-name}]\n") ==
        "lab.yaml:1: lab.hosts[0].name: 'a-very-long-name' is longer than 12 characters");
}

TEST_CASE("the payload that ports to DCMs can carry counts all that a frame takes") {
  const LabPlan plan = plan_of("port_rate: 200mbit\n", kIncast);
  CHECK(plan.payload_bound_bytes_per_s() == Approx(200e6 / 8 * 1448 / 1538));
  CHECK(plan_of("port_rate: unlimited\n", kIncast).payload_bound_bytes_per_s() == 0);
}

}  // namespace
}  // namespace weir::lab
