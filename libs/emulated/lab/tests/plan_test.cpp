#include "lab_text.hpp"
#include <weir/base/time.hpp>
#include <weir/lab/batches.hpp>

#include <algorithm>

namespace weir::lab {
namespace {

constexpr const char* kIncast = "readout: {count: 8}\ndcm: {count: 1}\nwriter: {count: 1}\n";

TEST_CASE("in a star each readout and each DCM has its own host, and a limited port to it") {
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

TEST_CASE("the farm determines the number of hosts if the lab does not") {
  CHECK(plan_of("lab: x\n", kIncast).hosts.size() == 9);
  CHECK(plan_of("placement: together\n", "readout: {count: 6}\ndcm: {count: 4}\n").hosts.size() == 6);
  CHECK(problems_of("lab: x\n") ==
        "lab.yaml: lab.host_count: the lab has no hosts: name them in `hosts`, or set host_count");
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

TEST_CASE("a farm that does not fit is refused with the remedy") {
  CHECK(problems_of("lab: x\nhost_count: 4\n", kIncast) ==
        "lab.yaml:2: lab.host_count: 8 readouts and 1 DCMs do not fit on 4 hosts, one on each: set "
        "lab.host_count, "
        "lab.placement=together, or name the nodes of each host");
}

TEST_CASE("nodes named by a host are there and nowhere else") {
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

TEST_CASE("names that the lab uses itself are rejected as host names") {
  CHECK(problems_of("hosts: [{name: switch}]\n") ==
        "lab.yaml:1: lab.hosts: 'switch' cannot be a host's name: the lab uses it");
  CHECK(problems_of("hosts: [{name: a}, {name: a}]\n") ==
        "lab.yaml:1: lab.hosts[1].name: there are two hosts 'a'");
  CHECK(problems_of("hosts: [{name: a-very-long-name}]\n") ==
        "lab.yaml:1: lab.hosts[0].name: 'a-very-long-name' is longer than 12 characters");
}

std::string way_to(const LabPlan& plan, const std::string& host, const std::string& at) {
  for (const Forward& forward : plan.forwards) {
    if (plan.hosts[forward.host].name == host && forward.device.starts_with(at + ".")) return forward.device;
  }
  return {};
}

TEST_CASE("racks share hosts out in blocks and have limited uplinks to a core") {
  const LabPlan plan = plan_of(
      "topology: racks\nhost_count: 6\nracks: {count: 3, uplink_rate: 500mbit, uplink_buffer: 200k}\n");
  CHECK(plan.switches == std::vector<std::string>{"rack1", "rack2", "rack3", "core"});
  CHECK(plan.hosts[1].attached == 0);
  CHECK(plan.hosts[2].attached == 1);
  CHECK(plan.hosts[5].attached == 2);
  REQUIRE(plan.links.size() == 3);
  CHECK(find_port(plan, "rack2>core")->rate_bits_per_s == 500'000'000);
  CHECK(find_port(plan, "core>rack2")->buffer_bytes == 200 * 1024);
  CHECK(way_to(plan, "h5", "rack1") == "rack1.core");
  CHECK(way_to(plan, "h5", "core") == "core.rack3");
  // Each switch has one entry per host.
  CHECK(plan.forwards.size() == plan.switches.size() * plan.hosts.size());
}

TEST_CASE("a host may name its rack, or after the last rack the core") {
  const LabPlan plan =
      plan_of("topology: racks\nracks: {count: 2}\nhosts: [{name: a, attached: 2}, {name: b}]\n");
  CHECK(plan.hosts[0].attached == 1);
  const LabPlan core =
      plan_of("topology: racks\nracks: {count: 2}\nhosts: [{name: a, attached: 3}, {name: b}]\n");
  CHECK(way_to(core, "a", "rack1") == "rack1.core");
  CHECK(way_to(core, "a", "core").empty());  // its port is there
  CHECK(find_port(core, "core>a") != nullptr);
  CHECK(problems_of("topology: racks\nracks: {count: 2}\nhosts: [{name: a, attached: 4}]\n") ==
        "lab.yaml:3: lab.hosts[0].attached: no rack 4 exists, only 2");
}

TEST_CASE("between leaves and spines the data of a DCM's host go over one spine, both ways") {
  const LabPlan plan = plan_of("topology: leaf-spine\nhost_count: 8\nleaf_spine: {leaves: 2, spines: 2}\n",
                               "readout: {count: 4}\ndcm: {count: 4}\n");  // readouts at leaf1, DCMs at leaf2
  CHECK(plan.links.size() == 4);
  CHECK(plan.forwards.size() == plan.switches.size() * plan.hosts.size());
  CHECK(way_to(plan, "h4", "leaf1") == "leaf1.spine1");
  CHECK(way_to(plan, "h5", "leaf1") == "leaf1.spine2");
  CHECK(way_to(plan, "h6", "leaf1") == "leaf1.spine1");
  // Towards readouts: h0 over spine1, h1 over spine2, unless the sending DCM belongs to the other spine.
  CHECK(way_to(plan, "h1", "leaf2") == "leaf2.spine2");
  const auto steered = std::find_if(plan.steers.begin(), plan.steers.end(),
                                    [](const Steer& steer) { return steer.from == 4 && steer.to == 1; });
  REQUIRE(steered != plan.steers.end());
  CHECK(steered->device == "leaf2.spine1");
  CHECK(plan.steers.size() == 8);
}

TEST_CASE("the line of a wan is down in its outages, and a network without a line has none") {
  const LabPlan plan =
      plan_of("topology: wan\nhost_count: 2\nwan: {outages: [{at_s: 5, for_s: 2}, {at_s: 1, for_s: 0.5}]}\n");
  const auto is_down = [&](double at_s) {
    return plan.line_is_down(static_cast<std::int64_t>(at_s * static_cast<double>(kSecond)));
  };
  CHECK_FALSE(is_down(0.9));
  CHECK(is_down(1));
  CHECK_FALSE(is_down(1.5));
  CHECK(is_down(6.9));
  CHECK_FALSE(is_down(7));
  CHECK(far_control_lines(plan, true) == "link set dev h1 state 0\n");
  CHECK(far_control_lines(plan, false) == "link set dev h1 state 3\n");
  CHECK(problems_of("topology: star\nhost_count: 2\nwan: {outages: [{at_s: 5}]}\n")
            .find("wan.outages: needs the topology wan") != std::string::npos);
}

TEST_CASE("links have the lab's delay or their host's, and a relay carries those and the long line") {
  const LabPlan plan = plan_of("delay_ms: 4\nhosts: [{name: a, delay_ms: 0.5}, {name: b}]\n");
  CHECK(plan.hosts[0].delay_ns == 500'000);
  CHECK(plan.hosts[1].delay_ns == 4'000'000);
  const auto relayed = plan.relayed_links();
  REQUIRE(relayed.size() == 2);
  CHECK(relayed[0].from.space == kFirstHost);
  CHECK(relayed[0].from.device == "data");
  CHECK(relayed[0].to.space == kSwitches);
  CHECK(relayed[0].to.device == "a");
  CHECK(relayed[0].rate_bits_per_s == 0);
  CHECK(relayed[1].delay_ns == 4'000'000);
  CHECK(plan_of("host_count: 2\n").relayed_links().empty());
  const LabPlan wan = plan_of("topology: wan\nhosts: [{name: a, delay_ms: 1}, {name: b}]\n");
  REQUIRE(wan.relayed_links().size() == 2);
  CHECK(wan.relayed_links()[0].to.device == "site2.site1");  // the line comes first
  const LabPlan racks = plan_of("topology: racks\nhost_count: 2\nracks: {count: 2, uplink_delay_ms: 0.3}\n");
  REQUIRE(racks.relayed_links().size() == 2);
  CHECK(racks.relayed_links()[1].from.device == "rack2.core");
  CHECK(racks.relayed_links()[1].delay_ns == 300'000);
  CHECK(plan_of("topology: leaf-spine\nhost_count: 2\nleaf_spine: {link_delay_ms: 2}\n")
            .relayed_links()
            .size() == 4);
}

TEST_CASE("a wan has two sites, the last hosts far away") {
  const LabPlan plan =
      plan_of("topology: wan\nhost_count: 4\nwan: {far_hosts: 1, delay_ms: 25, rate: 100mbit, buffer: 1m}\n");
  CHECK(plan.hosts[2].attached == 0);
  CHECK(plan.hosts[3].attached == 1);
  REQUIRE(plan.line.has_value());
  CHECK(plan.line->delay_ns == 25'000'000);
  CHECK(plan.counted_ports().size() == 6);
  CHECK(plan.counted_ports().back().name == "site2>site1");
  CHECK(problems_of("topology: wan\nhost_count: 2\nwan: {far_hosts: 3}\n") ==
        "lab.yaml:3: lab.wan.far_hosts: 3 of 2 hosts");
}

TEST_CASE("foreign traffic needs existing hosts") {
  const LabPlan plan =
      plan_of("host_count: 3\nforeign: [{from: h0, to: h2, rate: 400mbit, start_s: 2, stop_s: 5}]\n");
  REQUIRE(plan.foreign.size() == 1);
  CHECK(plan.foreign[0].to == 2);
  CHECK(plan.foreign[0].start_ns == 2'000'000'000);
  CHECK(problems_of("host_count: 3\nforeign: [{from: h0, to: h9}]\n") ==
        "lab.yaml:2: lab.foreign[0].to: unknown host 'h9'");
  CHECK(problems_of("host_count: 3\nforeign: [{from: h0, to: h0}]\n") ==
        "lab.yaml:2: lab.foreign[0].to: is the host that sends");
  CHECK(problems_of("host_count: 3\nforeign: [{from: h0, to: h1, start_s: 3, stop_s: 2}]\n") ==
        "lab.yaml:2: lab.foreign[0].stop_s: is not after start_s");
}

TEST_CASE("each plane has switches, ports and an address of each host of its own") {
  const LabPlan plan = plan_of("host_count: 4\nplanes: 3\ntopology: leaf-spine\n");
  const auto is_switch = [&](const std::string& name) {
    return std::find(plan.switches.begin(), plan.switches.end(), name) != plan.switches.end();
  };
  CHECK(plan.switches.size() == 12);
  CHECK((is_switch("leaf1") && is_switch("leaf2b") && is_switch("spine2c")));
  CHECK(plan.links.size() == 12);
  for (const Link& link : plan.links) CHECK(link.from / 4 == link.to / 4);
  CHECK(find_port(plan, "leaf2c>h3")->device == "h3-c");
  CHECK(find_port(plan, "leaf1b>spine2b")->device == "leaf1b.spine2b");
  CHECK(plan.forwards.size() == plan.switches.size() * plan.hosts.size());
  const LabLeg leg = plan.hosts[3].leg(1);
  CHECK(leg.address == "10.79.1.4");
  CHECK(leg.nic == "data-b");
  CHECK(plan.switches[leg.attached] == "leaf2b");
  CHECK(plan.hosts[3].leg(0).address == "10.77.1.4");
}

TEST_CASE("nodes in a lab with planes have an address in each") {
  const LabPlan plan = plan_of("planes: 2\naddresses: per-dcm\n", "readout: {count: 1}\ndcm: {count: 2}\n");
  CHECK(plan.places.at("readout-0").planes == std::vector<std::string>{"10.79.1.1"});
  CHECK(plan.places.at("readout-0").sources.empty());
  CHECK(plan.places.at("dcm-1").planes.empty());
  CHECK(plan.places.at("dcm-1").sources == std::vector<std::string>{"10.77.128.2/16", "10.79.128.2/16"});
}

TEST_CASE("a cut takes down a plane, a host's link in it, or a link between switches") {
  const std::string lab = "host_count: 4\nplanes: 2\ntopology: leaf-spine\ncuts: ";
  const auto devices = [&](const std::string& cut) {
    return plan_of(lab + "[" + cut + "]\n").cuts.at(0).devices;
  };
  using Names = std::vector<std::string>;
  CHECK(devices("{plane: 2}") == Names{"leaf1b", "leaf2b", "spine1b", "spine2b"});
  CHECK(devices("{plane: 2, host: h1}") == Names{"h1-b"});
  CHECK(devices("{link: spine2>leaf1}") == Names{"leaf1.spine2", "spine2.leaf1"});
  CHECK(devices("{plane: 2, link: leaf1>spine2}") == Names{"leaf1b.spine2b", "spine2b.leaf1b"});
  const LabPlan two = plan_of(lab + "[{at_s: 5}, {plane: 2, at_s: 1, for_s: 2, host: h0}]\n");
  CHECK(two.cuts.front().what == "h0 in plane 2");
  CHECK(two.cuts.front().for_ns == 2'000'000'000);
  CHECK(problems_of(lab + "[{plane: 3}]\n") == "lab.yaml:4: lab.cuts[0].plane: is 3, and the lab has 2");
  CHECK(problems_of(lab + "[{host: h9}]\n") == "lab.yaml:4: lab.cuts[0].host: unknown host 'h9'");
  CHECK(problems_of(lab + "[{link: leaf1>leaf2}]\n") ==
        "lab.yaml:4: lab.cuts[0].link: unknown link 'leaf1>leaf2'");
  CHECK(problems_of("hosts: [{name: h0, delay_ms: 1}, {name: h1}]\nplanes: 2\n") ==
        "lab.yaml:2: lab.planes: are not for links with a delay, as of h0");
}

TEST_CASE("a static window is remembered by the kernel, which forgets other connections") {
  const auto saves = [](const LabPlan& plan) { return plan.sysctls.front().second; };
  CHECK(saves(plan_of("host_count: 2\n")) == "1");
  CHECK(saves(plan_of("host_count: 2\nwindow_segments: 4\n")) == "0");
  // A congestion control that keeps the window needs neither a route nor a first connection.
  LabPlan kept = plan_of("host_count: 2\nwindow_segments: 4\nstatic_window: true\n");
  CHECK(saves(kept) == "1");
  CHECK_FALSE(kept.locks_windows());
  kept.set_congestion_control("weir4_1");
  CHECK(kept.hosts.back().congestion_control == "weir4_1");
  CHECK(problems_of("host_count: 2\nstatic_window: true\n") ==
        "lab.yaml:2: lab.static_window: needs a window_segments from 1 to 9999");
}

}  // namespace
}  // namespace weir::lab
