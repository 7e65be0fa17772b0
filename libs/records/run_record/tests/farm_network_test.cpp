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

config::PlannedFarm farm_of(const std::string& text) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE(file.has_value());
  const auto plan = config::expand(file->farm, file->locations);
  REQUIRE(plan.has_value());
  return {file->farm, *plan};
}

TEST_CASE("many readouts to one DCM are bounded by the port of the DCM") {
  const config::PlannedFarm farm =
      farm_of("network: {port_rate: 200mbit}\nreadout: {count: 8}\ndcm: {count: 1}\n");
  const FarmNetwork network = network_of(farm);
  CHECK(network.bits_per_s() == Approx(200 * kMbit));
  CHECK(network.readouts == 8);
  REQUIRE(network.port() != nullptr);
  CHECK(network.port()->dcms == 1);
}

TEST_CASE("DCMs that receive through one port share its rate") {
  const config::PlannedFarm farm =
      farm_of("network: {port_rate: 200mbit}\nreadout: {count: 8}\ndcm: {count: 6, per_port: 3}\n");
  const FarmNetwork network = network_of(farm);
  CHECK(network.bits_per_s() == Approx(400 * kMbit));
  CHECK(network.port()->dcms == 3);
}

TEST_CASE("one readout to many DCMs is bounded by the readout's link") {
  const config::PlannedFarm farm =
      farm_of("network: {port_rate: 200mbit}\nreadout: {count: 1}\ndcm: {count: 8}\n");
  CHECK(network_of(farm).bits_per_s() == Approx(200 * kMbit));
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
  const config::PlannedFarm farm = farm_of("readout: {count: 8}\n");
  const Theory theory = theory_of(network_of(farm), {1e6, 8});
  CHECK(theory.goodput_bytes_per_s == 0);
  CHECK(theory.serialisation_us == 0);
  CHECK(theory.dcms_per_port == 0);
}

TEST_CASE("masked sources and masked readouts have no data") {
  const config::PlannedFarm farm =
      farm_of("network: {port_rate: 1gbit}\nreadout: {count: 4, masked: [1]}\ndcm: {count: 1}\n");
  const FarmNetwork network = network_of(farm);
  CHECK(network.readouts == 3);
  CHECK(network.hosts.size() == 4);
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

TEST_CASE("theory counts a row per short fragment and an entry per readout, where that is less") {
  const FarmNetwork network = all_to_all(50 * kMbit, 50 * kMbit);
  REQUIRE(network.readouts == 6);
  const auto goodput = [&](double bytes, double fragments) {
    return theory_of(network, {bytes, fragments}).goodput_bytes_per_s;
  };
  const auto carried = [&](double bytes, double headers) {
    return Approx(shaping::stream_goodput(network.link(network.bits_per_s()), bytes, headers));
  };
  CHECK(goodput(24 * 64, 24) == carried(24 * 64, 24 * 16 + 6 * 16));
  // With one fragment per readout, a row and an entry are as long as a frame of its own.
  CHECK(goodput(6 * 64, 6) == carried(6 * 64, 6 * 32));
  CHECK(goodput(24 * 65'536, 24) == carried(24 * 65'536, 24 * 32));  // too long for a block
}

}  // namespace
}  // namespace weir::run_record
