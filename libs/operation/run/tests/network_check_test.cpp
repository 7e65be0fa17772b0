#include "weir_catch.hpp"
#include <weir/config/farm_file.hpp>
#include <weir/run/network_check.hpp>

#include <string>

namespace weir::run {
namespace {

constexpr const char* kPort = "network: {port_rate: 1gbit, port_buffer: 100k}\n";

// Returns the warnings for slices of 8 fragments of 64 KiB.
std::string warnings(const std::string& text, double slices_per_s = 0) {
  const auto file = config::read_farm(text, "farm.yaml");
  REQUIRE(file.has_value());
  const auto plan = config::expand(file->farm, file->locations);
  REQUIRE(plan.has_value());
  const config::PlannedFarm planned{file->farm, *plan};
  return config::to_text(check_network(planned, file->locations, run_record::network_of(planned),
                                       {{8 * 65'536, 8}, slices_per_s}));
}

TEST_CASE("a window above the port's capacity causes a warning with a suitable one") {
  CHECK(
      warnings(std::string(kPort) +
               "dcm: {shaper: byte-credits, window_bytes: 4MiB}\nreadout: {count: 8}\n") ==
      "farm.yaml:2: dcm.window_bytes: 4194kB is above the port's capacity, 12kB under way + 100k of buffer: "
      "packets will be lost; set 72000");
}

TEST_CASE("a window that a port holds causes no warning") {
  CHECK(
      warnings(std::string(kPort) + "dcm: {shaper: byte-credits, window_bytes: 72000}\nreadout: {count: 8}\n")
          .empty());
  CHECK(warnings(std::string(kPort) + "dcm: {shaper: adaptive}\nreadout: {count: 8}\n").empty());
  CHECK(warnings(std::string(kPort) + "readout: {count: 8}\n").empty());
}

TEST_CASE("limits that depend on an unknown port rate or buffer are not checked") {
  CHECK(warnings("readout: {count: 8}\n").empty());
  CHECK(warnings("network: {port_rate: 1gbit}\nreadout: {count: 8}\n").empty());
  CHECK(warnings("network: {port_buffer: 100k}\nreadout: {count: 8}\n").empty());
}

TEST_CASE("a window below the bandwidth-delay product is warned of") {
  CHECK(
      warnings("network: {port_rate: 1gbit, round_trip_us: 1000}\ndcm: {shaper: byte-credits, window_bytes: "
               "50000}\nreadout: "
               "{count: 8}\n") ==
      "farm.yaml:2: dcm.window_bytes: 50kB is below the 118kB that are under way to the port in 1000 us: it "
      "will idle; set 235000");
}

TEST_CASE("a quota is judged by the size of fragments, and cannot hold where one is too many") {
  CHECK(
      warnings(std::string(kPort) +
               "dcm: {shaper: fragment-credits, window_fragments: 4}\nreadout: {count: 8}\n") ==
      "farm.yaml:2: dcm.window_fragments: 4 fragments of 66kB is above the port's capacity, 12kB under way + "
      "100k of buffer: packets will be lost; set 1");
  CHECK(
      warnings("network: {port_rate: 1gbit, port_buffer: 40k}\ndcm: {shaper: fragment-credits, "
               "window_fragments: 1}\nreadout: {count: 8}\n") ==
      "farm.yaml:2: dcm.window_fragments: one fragment of 66kB is above the port's capacity, 12kB under way "
      "+ 40k of buffer: packets will be lost; set dcm.shaper to byte-credits and dcm.window_bytes to 33000");
}

TEST_CASE("DCMs that share a port share its capacity") {
  const auto farm =
      config::read_farm("dcm: {count: 2, shaper: byte-credits, window_bytes: 72000}\n", "farm.yaml");
  REQUIRE(farm.has_value());
  run_record::FarmNetwork network;
  network.hosts = {{0, 0, 0, 0, 1}, {1e9, 0, 102'400, 2, 0}};
  CHECK(
      config::to_text(check_network({farm->farm, {}}, farm->locations, network, {{8 * 65'536, 8}, 0})) ==
      "farm.yaml:1: dcm.window_bytes: 72kB of each of 2 DCMs that share a port is above the port's capacity, "
      "12kB under way + 100k of buffer: packets will be lost; set 36000");
}

TEST_CASE("the windows of all DCMs behind a line between switches are checked against it") {
  const auto farm =
      config::read_farm("dcm: {count: 3, shaper: byte-credits, window_bytes: 65000}\n", "farm.yaml");
  REQUIRE(farm.has_value());
  run_record::FarmNetwork network;
  network.readouts = 6;
  network.hosts = {
      {2e8, 0, 102'400, 0, 1}, {2e8, 0, 102'400, 1, 0}, {2e8, 0, 102'400, 1, 0}, {2e8, 0, 102'400, 1, 0}};
  network.links = {{"rack1>core", 2e8, 102'400, {0, 1, 1, 1}}};
  CHECK(
      config::to_text(check_network({farm->farm, {}}, farm->locations, network, {{6 * 65'536, 6}, 0})) ==
      "farm.yaml:1: dcm.window_bytes: 65kB of each of 3 DCMs may be in flight through rack1>core, above its "
      "2.4kB under way + 100k of buffer: packets will be lost there; set byte-credits and "
      "dcm.window_bytes to 21000");
  network.links.front().data_parts = {0, 0, 0.5, 0.5};
  CHECK(check_network({farm->farm, {}}, farm->locations, network, {{6 * 65'536, 6}, 0}).empty());
}

TEST_CASE("static congestion windows of all readouts are checked against the port") {
  const auto farm = config::read_farm("dcm: {count: 1, shaper: none}\n", "farm.yaml");
  REQUIRE(farm.has_value());
  run_record::FarmNetwork network;
  network.readouts = 24;
  network.hosts = {{0, 0, 0, 0, 1}, {1e9, 0, 102'400, 1, 0}};
  const auto text = [&](std::uint32_t segments) {
    network.window_segments = segments;
    return config::to_text(check_network({farm->farm, {}}, farm->locations, network, {{24 * 65'536, 24}, 0}));
  };
  CHECK_THAT(text(4),
             Catch::ContainsSubstring("lab.window_segments: 4 segments from each of 24 readouts are 139kB, "
                                      "above the port's capacity, 12kB under way + 100k of buffer: packets "
                                      "will be lost; set 3"));
  CHECK_THAT(text(3), !Catch::ContainsSubstring("window_segments"));
}

TEST_CASE("no shaper causes a warning if the slices in progress do not fit the port") {
  CHECK(warnings(std::string(kPort) + "dcm: {shaper: none, credits: 16}\nreadout: {count: 8}\n")
            .starts_with(
                "farm.yaml:2: dcm.shaper: without one 16 slices of 524 kB may be under way, above the"));
}

TEST_CASE("a pace above the port's rate is warned of") {
  CHECK(warnings(std::string(kPort) +
                 "dcm: {shaper: paced, pace_bytes_per_s: 200000000}\nreadout: {count: 8}\n")
            .starts_with(
                "farm.yaml:2: dcm.pace_bytes_per_s: 200 MB/s is above the 118 MB/s that the port can"));
  CHECK(warnings(std::string(kPort) +
                 "dcm: {shaper: paced, pace_bytes_per_s: 110000000}\nreadout: {count: 8}\n")
            .empty());
}

TEST_CASE("a wait that is too short for pushed slices in order is warned of") {
  const auto with = [](const std::string& readout, int slice_ms, const std::string& dcm) {
    return warnings("network: {port_rate: 200mbit}\nrun: {mode: push}\ntrigger: {mode: clock, slice_ms: " +
                    std::to_string(slice_ms) + "}\nreadout: {count: 8, " + readout + "}\ndcm: {" + dcm +
                    "}\n");
  };
  // A slice takes 22 ms through the port.
  CHECK(with("shaper: direct", 50, "incomplete: order, push_wait_ms: 1").empty());
  CHECK_THAT(with("shaper: direct", 10, "incomplete: order, push_wait_ms: 10"),
             Catch::ContainsSubstring("farm.yaml:5: dcm.push_wait_ms: with dcm.incomplete 'order' fragments "
                                      "are given up 20 ms after the last readout may begin to send, and "
                                      "those of a slice take 2"));
  CHECK_THAT(with("shaper: direct", 10, "push_wait_ms: 10"), !Catch::ContainsSubstring("push_wait_ms"));
  // Two readouts of eight send in a slot: a quarter of it.
  CHECK_THAT(
      with("barrel_group: 2", 2, "incomplete: order, push_wait_ms: 2"),
      Catch::ContainsSubstring("given up 4 ms") && Catch::ContainsSubstring("those of a slot take 5."));
  CHECK_THAT(with("barrel_group: 2", 2, "incomplete: order, push_wait_ms: 10"),
             !Catch::ContainsSubstring("push_wait_ms"));
}

TEST_CASE("triggers that make more than the network can carry are warned of") {
  const std::string farm = std::string(kPort) +
                           "trigger: {mode: rate, rate_hz: 229}\ndcm: {shaper: byte-credits, window_bytes: "
                           "72000}\nreadout: {count: 8}\n";
  CHECK(
      warnings(farm, 229) ==
      "farm.yaml:2: trigger.rate_hz: 229 slices a second of 524 kB are 120 MB/s, 103 % of the 118 MB/s that "
      "the network can carry: triggers will be vetoed; at most 224.4 a second");
  CHECK(warnings(farm, 220).empty());
}

}  // namespace
}  // namespace weir::run
