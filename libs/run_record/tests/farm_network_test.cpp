#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/run_record/farm_network.hpp>

#include <string>

namespace weir::run_record {
namespace {

constexpr double kMbit = 1e6;
constexpr double kStream = 1448.0 / 1538.0;

FarmNetwork all_to_all(double port, double link, std::uint32_t hosts = 6) {
  FarmNetwork network;
  network.readouts = hosts;
  network.hosts.assign(hosts, {port, link, 102'400, 2, 1.0 / hosts});
  return network;
}

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

TEST_CASE("many readouts to one DCM are bounded by the port of the DCM") {
  const Farm farm = farm_of("network: {port_rate: 200mbit}\nreadout: {count: 8}\ndcm: {count: 1}\n");
  const FarmNetwork network = network_of(farm.farm, farm.plan);
  CHECK(network.bits_per_s() == Approx(200 * kMbit));
  CHECK(network.readouts == 8);
  REQUIRE(network.port() != nullptr);
  CHECK(network.port()->dcms == 1);
}

TEST_CASE("DCMs that receive through one port share its rate") {
  const Farm farm =
      farm_of("network: {port_rate: 200mbit}\nreadout: {count: 8}\ndcm: {count: 6, per_port: 3}\n");
  const FarmNetwork network = network_of(farm.farm, farm.plan);
  CHECK(network.bits_per_s() == Approx(400 * kMbit));
  CHECK(network.port()->dcms == 3);
}

TEST_CASE("one readout to many DCMs is bounded by the readout's link") {
  const Farm farm = farm_of("network: {port_rate: 200mbit}\nreadout: {count: 1}\ndcm: {count: 8}\n");
  CHECK(network_of(farm.farm, farm.plan).bits_per_s() == Approx(200 * kMbit));
}

TEST_CASE("the readout with the most data for its link bounds all, as every slice needs its part") {
  FarmNetwork network;
  network.hosts = {{0, 100 * kMbit, 0, 0, 0.75}, {0, 100 * kMbit, 0, 0, 0.25}, {kMbit * 1000, 0, 0, 1, 0}};
  CHECK(network.bits_per_s() == Approx(100 * kMbit / 0.75));
}

TEST_CASE("data that a DCM reads on its own host pass neither port nor link") {
  CHECK(all_to_all(50 * kMbit, 50 * kMbit).bits_per_s() == Approx(6 * 50 * kMbit * 6 / 5));
  CHECK(all_to_all(50 * kMbit, 0).bits_per_s() == Approx(6 * 50 * kMbit * 6 / 5));
  CHECK(all_to_all(0, 50 * kMbit).bits_per_s() == Approx(6 * 50 * kMbit * 6 / 5));
  CHECK(all_to_all(50 * kMbit, 25 * kMbit).bits_per_s() == Approx(6 * 25 * kMbit * 6 / 5));
}

TEST_CASE("a network without limits, or unknown, has no bound") {
  CHECK(all_to_all(0, 0).bits_per_s() == 0);
  const Farm farm = farm_of("readout: {count: 8}\n");
  const Theory theory = theory_of(network_of(farm.farm, farm.plan), {1e6, 8});
  CHECK(theory.goodput_bytes_per_s == 0);
  CHECK(theory.serialisation_us == 0);
  CHECK(theory.dcms_per_port == 0);
}

TEST_CASE("masked sources and masked readouts have no data") {
  const Farm farm =
      farm_of("network: {port_rate: 1gbit}\nreadout: {count: 4, masked: [1]}\ndcm: {count: 1}\n");
  const FarmNetwork network = network_of(farm.farm, farm.plan);
  CHECK(network.readouts == 3);
  CHECK(network.hosts.size() == 4);
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
  // With one readout beside the DCMs the line carries a half.
  const FarmNetwork mixed = network(
      "hosts: [{name: r0, nodes: [readout-0], attached: 1}, {name: r1, nodes: [readout-1], attached: 2}, "
      "{name: a, nodes: [dcm-0], attached: 2}, {name: b, nodes: [dcm-1], attached: 2}, "
      "{name: c, nodes: [dcm-2], attached: 2}]\n");
  CHECK(mixed.bits_per_s() == Approx(300 * kMbit));
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

TEST_CASE("theory counts a header per fragment, and what of a slice passes the port") {
  const FarmNetwork network = all_to_all(50 * kMbit, 50 * kMbit);
  const Theory theory = theory_of(network, {6 * 65'536, 6});
  const double share = kStream * 65'536 / 65'568;
  CHECK(theory.goodput_bytes_per_s == Approx(6 * 60 * kMbit / 8 * share));
  CHECK(theory.serialisation_us == Approx(5 * 65'536 / (50 * kMbit / 8 * share) * 1e6));
  CHECK(theory.dcms_per_port == 2);
  CHECK(theory.thesis_goodput_bytes_per_s == Approx(shaping::thesis_goodput(6 * 60 * kMbit, 65'536, 32)));
}

TEST_CASE("theory counts a row per short fragment and a header per readout, where that is less") {
  const FarmNetwork network = all_to_all(50 * kMbit, 50 * kMbit);
  REQUIRE(network.readouts == 6);
  const auto goodput = [&](double bytes, double fragments) {
    return theory_of(network, {bytes, fragments}).goodput_bytes_per_s;
  };
  const auto carried = [&](double bytes, double headers) {
    return Approx(shaping::stream_goodput(network.link(network.bits_per_s()), bytes, headers));
  };
  CHECK(goodput(24 * 64, 24) == carried(24 * 64, 24 * 16 + 6 * 32));
  // With one fragment per readout, a frame of its own is shorter than a block.
  CHECK(goodput(6 * 64, 6) == carried(6 * 64, 6 * 32));
  CHECK(goodput(24 * 65'536, 24) == carried(24 * 65'536, 24 * 32));  // too long for a block
}

}  // namespace
}  // namespace weir::run_record
