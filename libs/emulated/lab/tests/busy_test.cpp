// Tests how a lab's slow hosts, pauses, frame loss and port changes are read, checked and planned.
#include "lab_text.hpp"
#include <weir/lab/batches.hpp>

#include <cmath>
#include <cstdio>

namespace weir::lab {
namespace {

std::string tc_lines(const LabPlan& plan, Space space) {
  std::vector<std::string> paths(plan.spaces(), "/ns");
  for (const Batch& batch : set_up_batches(plan, paths)) {
    if (batch.space == space && batch.tool == Tool::tc) return batch.lines;
  }
  return {};
}

TEST_CASE("by default no host is busy, slow or paused, and nothing is lost or changed") {
  const LabPlan plan = plan_of("host_count: 2\n");
  CHECK(plan.cpu_load == 0);
  CHECK(plan.changes.empty());
  CHECK(plan.hosts[0].pause.every_ns == 0);
  CHECK(plan.hosts[0].cpu_share == 0);
  CHECK(plan.hosts[0].loss == 0);
}

TEST_CASE("a host may pause and have a share of a core, beside spinners of the whole lab") {
  const LabPlan plan = plan_of(
      "host_count: 3\ncpu_load: 2\nhosts:\n  - {name: a, pause: {every_ms: 500, for_ms: 80}}\n"
      "  - {name: b, cpu_share: 0.2}\n");
  CHECK(plan.cpu_load == 2);
  CHECK(plan.hosts[0].pause.every_ns == 500'000'000);
  CHECK(plan.hosts[0].pause.for_ns == 80'000'000);
  CHECK(plan.hosts[1].cpu_share == 0.2);
  CHECK(plan.hosts[2].pause.for_ns == 0);
}

TEST_CASE("pauses that make no sense are refused with their place") {
  CHECK(problems_of("hosts:\n  - name: a\n    pause: {every_ms: 500}\n") ==
        "lab.yaml:3: lab.hosts[0].pause: needs every_ms and for_ms");
  CHECK(problems_of("hosts:\n  - {name: a, pause: {every_ms: 50, for_ms: 80}}\n") ==
        "lab.yaml:2: lab.hosts[0].pause.for_ms: is not below every_ms: the host would never run");
  CHECK(problems_of("hosts:\n  - {name: a, pause: {every_ms: 50, for_ms: 0.1}}\n") ==
        "lab.yaml:2: lab.hosts[0].pause: has a pause, or a time between two, that is shorter than 1 ms");
  CHECK(problems_of("hosts:\n  - {name: a, cpu_share: 0.001}\n") ==
        "lab.yaml:2: lab.hosts[0].cpu_share: is below 0.01: the nodes would make no progress");
  CHECK_THAT(problems_of("lab: x\nhost_count: 1\nloss: 0.9\n"),
             Catch::ContainsSubstring("lab.yaml:3: loss: "));
  CHECK_THAT(problems_of("lab: x\ncpu_load: -1\n"), Catch::ContainsSubstring("lab.yaml:2: cpu_load: "));
}

TEST_CASE("a host's own loss goes before the lab's; a random number decides at the host's end of the cable") {
  const LabPlan plan = plan_of("host_count: 2\nloss: 0.25\nhosts: [{name: a, loss: 0.5}]\n");
  CHECK(plan.hosts[0].loss == 0.5);
  CHECK(plan.hosts[1].loss == 0.25);
  CHECK(tc_lines(plan, kFirstHost) ==
        "qdisc add dev data clsact\n"
        "filter add dev data ingress prio 1 bpf da bytecode \"4,32 0 0 4294963256,53 1 0 2147483648,6 0 0 "
        "2,6 0 0 "
        "4294967295\"\n");
  CHECK_THAT(tc_lines(plan, kFirstHost + 1), Catch::ContainsSubstring("53 1 0 1073741824,"));
  CHECK(tc_lines(plan_of("host_count: 1\n"), kFirstHost).empty());
}

// The probability at which a host's filter for bit errors drops a frame of so many bytes, without its
// checksum.
double dropped_share(const LabPlan& plan, std::uint64_t bytes) {
  const std::string lines = tc_lines(plan, kFirstHost);
  unsigned checksum = 0;
  unsigned factor = 0;
  unsigned half = 0;
  unsigned shift = 0;
  const auto at = lines.find("10,128 0 0 0");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(lines.c_str() + at, "10,128 0 0 0,4 0 0 %u,36 0 0 %u,4 0 0 %u,116 0 0 %u,", &checksum,
                      &factor, &half, &shift) == 4);
  const std::uint64_t product = (bytes + checksum) * factor + half;
  CHECK(product < (1ULL << 32));  // the kernel's registers have 32 bits
  return static_cast<double>(product >> shift) / 4294967296.0;
}

TEST_CASE("bit errors lose frames by their length, with less than a tenth of error") {
  for (const char* text : {"1e-11", "3e-10", "1e-8", "7e-7", "1e-6"}) {
    const LabPlan plan = plan_of(std::string("host_count: 1\nbit_errors: ") + text + "\n");
    const double rate = std::stod(text);
    for (const std::uint64_t bytes : {60, 66, 590, 1514, 9014}) {
      CAPTURE(rate, bytes);
      const double expected = -std::expm1(8.0 * static_cast<double>(bytes + 4) * std::log1p(-rate));
      CHECK(dropped_share(plan, bytes) == Approx(expected).epsilon(0.1));
    }
    CHECK(dropped_share(plan, 65'549) > 0);  // with `offloads: all`
  }
  CHECK(dropped_share(plan_of("host_count: 1\nbit_errors: 1e-8\n"), 1514) == Approx(1.2e-4).epsilon(0.02));
}

TEST_CASE("a host's own bit errors go before the lab's, and loss does not exclude them") {
  const LabPlan plan =
      plan_of("host_count: 2\nbit_errors: 1e-8\nhosts: [{name: a, bit_errors: 1e-7, loss: 0.5}]\n");
  CHECK(plan.hosts[0].bit_errors == 1e-7);
  CHECK(plan.hosts[1].bit_errors == 1e-8);
  CHECK(plan.hosts[1].loses_frames());
  CHECK_THAT(tc_lines(plan, kFirstHost),
             Catch::ContainsSubstring("prio 1 bpf") && Catch::ContainsSubstring("prio 2 bpf"));
  CHECK(problems_of("host_count: 1\nbit_errors: 1e-12\n") ==
        "lab.yaml:2: lab.bit_errors: is below 1e-11: set a rate that loses frames, or 0");
  CHECK_THAT(problems_of("host_count: 1\nbit_errors: 0.01\n"),
             Catch::ContainsSubstring("lab.yaml:2: bit_errors: "));
}

TEST_CASE("a host with limited sending loses frames, too") {
  const LabPlan plan = plan_of("host_count: 1\nhost_rate: 50mbit\nloss: 0.5\n");
  CHECK_THAT(tc_lines(plan, kFirstHost), Catch::ContainsSubstring("root handle 1: tbf rate 50000000bit"));
  CHECK_THAT(tc_lines(plan, kFirstHost), Catch::ContainsSubstring("dev data clsact"));
}

TEST_CASE("changes of a port are sorted by time, and keep values that they do not give") {
  const LabPlan plan = plan_of(
      "host_count: 2\nport_rate: 150mbit\nport_buffer: 100k\nchanges:\n  - {at_s: 6, host: h1, port_rate: "
      "150mbit}\n  - {at_s: 3, host: h1, port_rate: 40mbit, port_buffer: 50k}\n");
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[0].at_ns == 3'000'000'000);
  CHECK(plan.ports[plan.changes[0].port].name == "switch>h1");
  CHECK(plan.changes[0].rate_bits_per_s == 40'000'000);
  CHECK(plan.changes[1].rate_bits_per_s == 150'000'000);
  CHECK(plan.changes[1].buffer_bytes == 50 * 1024);
  CHECK(change_line(plan, plan.changes[0]) ==
        "qdisc change dev h1 root handle 1: tbf rate 40000000bit burst 16384 limit 51200 overhead 24 mpu "
        "84\n");
}

TEST_CASE("a port's rate over a run is the mean over its changes") {
  const LabPlan plan = plan_of(
      "host_count: 1\nport_rate: 150mbit\nchanges:\n  - {at_s: 2, host: h0, port_rate: 50mbit}\n  - {at_s: "
      "8, host: h0, port_rate: 150mbit}\n");
  CHECK(plan.mean_rate(0, 0, 0) == 150e6);
  CHECK(plan.mean_rate(0, 0, 1) == 150e6);
  CHECK(plan.mean_rate(0, 0, 4) == Approx(100e6));
  CHECK(plan.mean_rate(0, 0, 10) == Approx(90e6));
  CHECK(plan.mean_rate(0, 1, 3) == Approx(100e6));
  CHECK(plan.mean_rate(0, 3, 8) == Approx(50e6));
  CHECK(plan.mean_rate(0, 9, 20) == Approx(150e6));
}

TEST_CASE("a link changes by its name in the summary") {
  const LabPlan plan =
      plan_of("topology: racks\nhost_count: 2\nchanges: [{at_s: 1, link: rack1>core, port_rate: 20mbit}]\n");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.ports[plan.changes[0].port].device == "rack1.core");
}

TEST_CASE("a change of an unknown port is rejected with its place") {
  const auto of = [](const std::string& change) {
    return problems_of("host_count: 2\nhosts: [{name: a, port_rate: unlimited}]\nchanges:\n  - " + change +
                       "\n");
  };
  CHECK(of("{at_s: 1, host: h9, port_rate: 1gbit}") == "lab.yaml:4: lab.changes[0].host: unknown host 'h9'");
  CHECK(of("{at_s: 1, host: a, port_rate: 1gbit}") ==
        "lab.yaml:4: lab.changes[0].host: has an unlimited port: set its port_rate from the start");
  CHECK(of("{at_s: 1, link: x>y, port_rate: 1gbit}") ==
        "lab.yaml:4: lab.changes[0].link: unknown or unlimited port 'x>y'; the summary of a run names the "
        "limited ones");
  CHECK(of("{at_s: 1, host: h1, link: x, port_rate: 1gbit}") ==
        "lab.yaml:4: lab.changes[0].host: and link are two ports");
  CHECK(of("{at_s: 1, port_rate: 1gbit}") == "lab.yaml:4: lab.changes[0].host: is missing: set host or link");
  CHECK(of("{at_s: 1, host: h1}") ==
        "lab.yaml:4: lab.changes[0].port_rate: is needed, or port_buffer: otherwise nothing changes");
  CHECK(of("{at_s: 1, host: h1, port_rate: unlimited}") ==
        "lab.yaml:4: lab.changes[0].port_rate: is unlimited: a port that changes stays limited");
  CHECK(of("{at_s: 1, host: h1, port_buffer: 100}") ==
        "lab.yaml:4: lab.changes[0].port_buffer: is shorter than a frame");
  CHECK(problems_of("topology: wan\nhost_count: 2\nchanges: [{link: site1>site2, port_rate: 1gbit}]\n") ==
        "lab.yaml:3: lab.changes[0].link: is the long line, which keeps its rate");
}

}  // namespace
}  // namespace weir::lab
