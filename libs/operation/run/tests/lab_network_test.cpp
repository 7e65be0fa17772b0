#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/config/lab_file.hpp>
#include <weir/run/lab_network.hpp>

#include <string>

namespace weir::run {
namespace {

using run_record::FarmNetwork;

constexpr double kMbit = 1e6;

struct Farm {
  v1::Farm farm;
  config::FarmPlan plan;
};

Farm farm_of(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE(file.has_value());
  const auto plan = config::expand(file->farm, file->locations);
  REQUIRE(plan.has_value());
  return {file->farm, *plan};
}

TEST_CASE("a lab's hosts have their ports, links, DCMs and data, and its sysctls turn time stamps off") {
  const Farm farm = farm_of("readout: {count: 6}\ndcm: {count: 12}\n");
  const auto file = config::read_lab(
      "host_count: 6\nplacement: together\nport_rate: 50mbit\nport_buffer: 100k\nhost_rate: 40mbit\nmtu: "
      "9000\n"
      "sysctls: {ipv4.tcp_timestamps: 0}\n",
      "lab.yaml");
  REQUIRE(file.has_value());
  const auto lab = lab::plan_lab(*file, &farm.plan);
  REQUIRE(lab.has_value());
  const FarmNetwork network = network_of(*lab, farm.plan);
  REQUIRE(network.hosts.size() == 6);
  CHECK(network.hosts[3].port_bits_per_s == 50 * kMbit);
  CHECK(network.hosts[3].link_bits_per_s == 40 * kMbit);
  CHECK(network.hosts[3].buffer_bytes == 102'400);
  CHECK(network.hosts[3].dcms == 2);
  CHECK(network.hosts[3].data_share == Approx(1.0 / 6));
  CHECK(network.mtu == 9000);
  CHECK_FALSE(network.timestamps);
}

TEST_CASE("a card below its host's port limits the host") {
  const Farm farm = farm_of("readout: {count: 2}\ndcm: {count: 1}\n");
  const auto receives = [&](const std::string& card) {
    const auto file = config::read_lab(
        "host_count: 3\nport_rate: 150mbit\nhost_rate: 90mbit\nnic_rate: " + card + "\n", "lab.yaml");
    REQUIRE(file.has_value());
    const auto lab = lab::plan_lab(*file, &farm.plan);
    REQUIRE(lab.has_value());
    const FarmNetwork network = network_of(*lab, farm.plan);
    CHECK(network.hosts[2].link_bits_per_s == 90 * kMbit);
    return network.hosts[2];
  };
  CHECK(receives("120mbit").port_bits_per_s == 120 * kMbit);
  CHECK(receives("120mbit").buffer_bytes == 64 * 1024);
  CHECK(receives("1gbit").port_bits_per_s == 150 * kMbit);
}

TEST_CASE("a line between switches limits the DCMs behind it") {
  const Farm farm = farm_of("readout: {count: 2}\ndcm: {count: 3}\n");
  const auto network = [&](const std::string& hosts) {
    const auto file = config::read_lab(
        "topology: racks\nport_rate: 200mbit\nracks: {count: 2, uplink_rate: 150mbit, uplink_buffer: 80k}\n" +
            hosts,
        "lab.yaml");
    REQUIRE(file.has_value());
    const auto lab = lab::plan_lab(*file, &farm.plan);
    REQUIRE(lab.has_value());
    return network_of(*lab, farm.plan);
  };
  // Both readouts behind the line: 150, and not three ports of 200.
  const FarmNetwork apart = network(
      "hosts: [{name: r0, nodes: [readout-0], attached: 1}, {name: r1, nodes: [readout-1], attached: 1}, "
      "{name: a, nodes: [dcm-0], attached: 2}, {name: b, nodes: [dcm-1], attached: 2}, "
      "{name: c, nodes: [dcm-2], attached: 2}]\n");
  CHECK(apart.bits_per_s() == Approx(150 * kMbit));
  REQUIRE(apart.links.size() == 2);
  CHECK(apart.links[0].name == "rack1>core");
  CHECK(apart.links[0].buffer_bytes == 80 * 1024);
  CHECK(apart.links[0].data_parts == std::vector<double>{0, 0, 1, 1, 1});
  using Names = std::vector<std::string>;
  CHECK(run_record::narrow_links(apart) == Names{"", "", "rack1>core", "rack1>core", "rack1>core"});
  // With one readout beside the DCMs the line carries a half.
  const FarmNetwork mixed = network(
      "hosts: [{name: r0, nodes: [readout-0], attached: 1}, {name: r1, nodes: [readout-1], attached: 2}, "
      "{name: a, nodes: [dcm-0], attached: 2}, {name: b, nodes: [dcm-1], attached: 2}, "
      "{name: c, nodes: [dcm-2], attached: 2}]\n");
  CHECK(mixed.bits_per_s() == Approx(300 * kMbit));
  CHECK(run_record::narrow_links(mixed)[2] == "rack1>core");
  // Three ports of 200 cannot fill a line of 600.
  FarmNetwork wide = apart;
  for (run_record::FarmLink& link : wide.links) link.bits_per_s = 600 * kMbit;
  CHECK(run_record::narrow_links(wide) == Names(5));
}

TEST_CASE("a lab's port that changes has its mean rate over a part of the run") {
  const Farm farm = farm_of("readout: {count: 2}\ndcm: {count: 1}\n");
  const auto file = config::read_lab(
      "host_count: 3\nport_rate: 150mbit\nchanges: [{at_s: 4, host: h2, port_rate: 50mbit}]\n", "lab.yaml");
  REQUIRE(file.has_value());
  const auto lab = lab::plan_lab(*file, &farm.plan);
  REQUIRE(lab.has_value());
  CHECK(network_of(*lab, farm.plan).bits_per_s() == Approx(150 * kMbit));
  CHECK(network_of(*lab, farm.plan, 0, 8).bits_per_s() == Approx(100 * kMbit));
  CHECK(network_of(*lab, farm.plan, 4, 8).bits_per_s() == Approx(50 * kMbit));
}

}  // namespace
}  // namespace weir::run
