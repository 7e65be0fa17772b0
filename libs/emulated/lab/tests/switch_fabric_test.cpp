#include "lab_text.hpp"
#include "weir_catch.hpp"
#include <weir/lab/switch_fabric.hpp>

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace weir::lab {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;  // source and destination

// 976 bytes and 24 on the wire take a millisecond at 8 Mbit/s.
constexpr std::size_t kFrameOf1ms = 976;

std::vector<std::byte> frame(std::size_t source, std::size_t destination, std::size_t size,
                             std::uint32_t number) {
  std::vector<std::byte> bytes(size);
  const auto address = [&](std::size_t at, std::size_t host) {
    bytes[at] = std::byte{0x02};
    bytes[at + 1] = std::byte{0x77};
    bytes[at + 4] = static_cast<std::byte>((host + 1) >> 8U);
    bytes[at + 5] = static_cast<std::byte>(host + 1);
  };
  address(0, destination);
  address(6, source);
  std::memcpy(&bytes[14], &number, sizeof number);
  return bytes;
}

// Hosts that send to each other through a fabric; checks the order of each pair's frames.
class Hosts {
 public:
  explicit Hosts(const std::string& lab) : plan_(plan_of(lab)), fabric_(plan_) {}

  void send(std::size_t source, std::size_t destination, std::size_t size) {
    REQUIRE(fabric_.offer(source, now_, frame(source, destination, size, sent_[{source, destination}]++)));
    ++in_flight_;
  }
  // Keeps the host's buffer full of frames to these hosts in turn.
  void saturate(std::size_t source, std::vector<std::size_t> destinations, std::size_t size = 1514) {
    flows_.push_back({source, std::move(destinations), size, 0});
  }
  // Calls the fabric when something is due, but not more often than every `nap_ns`.
  void run_until(TimeNs end_ns, DurationNs nap_ns = 0) {
    fill();
    while (true) {
      const auto due = fabric_.due_ns();
      const TimeNs next = std::max(due.value_or(end_ns), now_ + nap_ns);
      if (next >= end_ns) break;
      now_ = next;
      drain();
      fill();
    }
    now_ = end_ns;
    drain();
  }
  void run_until_empty(std::mt19937& random) {
    while (const auto due = fabric_.due_ns()) {
      now_ = std::max(now_, *due) + static_cast<DurationNs>(random() % 200'000);
      drain();
    }
  }
  void drain() {
    while (const auto arrival = fabric_.arrived(now_)) {
      const auto source = std::to_integer<std::size_t>((*arrival->frame)[11]) - 1;
      std::uint32_t number = 0;
      std::memcpy(&number, &(*arrival->frame)[14], sizeof number);
      REQUIRE(number == got_[{source, arrival->host}]++);
      got_bytes_[{source, arrival->host}] += arrival->frame->size();
      fabric_.pop(now_);
      --in_flight_;
    }
  }
  void wait(DurationNs time_ns) { now_ += time_ns; }

  [[nodiscard]] std::size_t port(const std::string& name) const {
    for (std::size_t i = 0; i < plan_.ports.size(); ++i) {
      if (plan_.ports[i].name == name) return i;
    }
    FAIL("no port " << name);
    return 0;
  }
  [[nodiscard]] PortCount count(const std::string& name) const { return fabric_.count(port(name)); }
  [[nodiscard]] double use(const std::string& name) const {
    const std::size_t i = port(name);
    return 8e9 * static_cast<double>(fabric_.count(i).wire_bytes()) /
           (static_cast<double>(now_) * static_cast<double>(plan_.ports[i].rate_bits_per_s));
  }
  [[nodiscard]] std::uint64_t drops() const {
    std::uint64_t drops = 0;
    for (std::size_t i = 0; i < plan_.ports.size(); ++i) drops += fabric_.count(i).drops;
    return drops;
  }
  [[nodiscard]] std::uint64_t got_bytes(std::size_t source, std::size_t destination) {
    return got_bytes_[{source, destination}];
  }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }
  [[nodiscard]] const LabPlan& plan() const { return plan_; }
  [[nodiscard]] SwitchFabric& fabric() { return fabric_; }

 private:
  struct Flow {
    std::size_t source;
    std::vector<std::size_t> destinations;
    std::size_t size;
    std::size_t next;
  };
  void fill() {
    for (Flow& flow : flows_) {
      while (fabric_.takes(flow.source))
        send(flow.source, flow.destinations[flow.next++ % flow.destinations.size()], flow.size);
    }
  }

  LabPlan plan_;
  SwitchFabric fabric_;
  TimeNs now_ = 0;
  std::vector<Flow> flows_;
  std::map<Pair, std::uint32_t> sent_;
  std::map<Pair, std::uint32_t> got_;
  std::map<Pair, std::uint64_t> got_bytes_;
  std::size_t in_flight_ = 0;
};

std::string star(int hosts, const std::string& back_pressure = "pause") {
  return fmt::format(
      "host_count: {}\nhost_rate: 8mbit\nport_rate: 8mbit\nport_buffer: 20k\nhost_buffer: 100k\n"
      "back_pressure: {}\n",
      hosts, back_pressure);
}

// Sources at two switches, linked to the switch of three destinations (mixed-traffic paper, figure 11).
std::string cascade(const std::string& back_pressure, int at_first, int at_second, bool one_card = false) {
  std::string text = fmt::format(
      "topology: racks\nracks: {{count: 2, uplink_rate: 40mbit, uplink_buffer: 200k}}\nport_rate: 10mbit\n"
      "host_rate: 10mbit\nport_buffer: 80k\nhost_buffer: 100k\nback_pressure: {}\nhosts:\n",
      back_pressure);
  for (int i = 0; i < at_first + at_second; ++i)
    text += fmt::format("  - {{name: r{}, attached: {}}}\n", i, i < at_first ? 1 : 2);
  for (int i = 0; i < 3; ++i)
    text += fmt::format("  - {{name: d{}, attached: 3{}}}\n", i, one_card ? ", card: 1" : "");
  return text;
}

}  // namespace

TEST_CASE("a frame takes its time at each port, and the delay of each cable") {
  Hosts hosts(star(2) + "delay_ms: 3\n");
  hosts.send(0, 1, kFrameOf1ms);
  hosts.run_until(8 * kMillisecond - 1);
  CHECK(hosts.in_flight() == 1);
  hosts.run_until(8 * kMillisecond);
  CHECK(hosts.in_flight() == 0);
  CHECK(hosts.count("h0>switch").packets == 1);
  CHECK(hosts.count("switch>h1").bytes == kFrameOf1ms);
}

TEST_CASE("a frame to an address that no host has goes nowhere") {
  Hosts hosts(star(2));
  std::vector<std::byte> broadcast(60, std::byte{0xff});
  CHECK_FALSE(hosts.fabric().offer(0, 0, broadcast));
  CHECK_FALSE(hosts.fabric().offer(0, 0, frame(0, 7, 60, 0)));
  CHECK_FALSE(hosts.fabric().due_ns().has_value());
}

TEST_CASE("nothing is lost or reordered under any overload, and no stream exceeds its part of a buffer") {
  const std::vector<std::string> networks = {
      "topology: star\n", "topology: racks\nracks: {count: 2, uplink_rate: 9mbit, uplink_buffer: 120k}\n",
      "topology: racks\nracks: {count: 3, uplink_rate: 5mbit, uplink_buffer: 180k, uplink_delay_ms: 1.5}\n",
      "topology: leaf-spine\nleaf_spine: {leaves: 3, spines: 2, link_rate: 7mbit, link_buffer: 180k}\n"};
  for (unsigned seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::string mode = seed % 2 == 0 ? "pause" : "credits";
    Hosts hosts(
        networks[seed / 2 % networks.size()] +
        fmt::format("host_count: 6\nhost_rate: 10mbit\nport_rate: 8mbit\nport_buffer: {}\nhost_buffer: "
                    "100k\ndelay_ms: {}\nback_pressure: {}\n",
                    mode == "pause" ? "12k" : "60k", random() % 2, mode));
    for (int i = 0; i < 4000; ++i) {
      hosts.wait(static_cast<DurationNs>(random() % 300'000));
      hosts.drain();
      const std::size_t source = random() % 6;
      const std::size_t destination = random() % 3 != 0 && source != 0 ? 0 : (source + 1 + random() % 5) % 6;
      if (hosts.fabric().takes(source)) hosts.send(source, destination, 60 + random() % 1455);
    }
    hosts.run_until_empty(random);
    CHECK(hosts.in_flight() == 0);
    CHECK(hosts.drops() == 0);
    const FabricPlan plan(hosts.plan());
    bool held = false;
    for (std::size_t port = 0; port < plan.ports().size(); ++port) {
      if (plan.is_host(plan.ports()[port].to)) continue;
      CHECK(hosts.fabric().most_stored(port) <= plan.ports()[port].limit);
      held = held || hosts.fabric().count(port).pauses > 0;
      CHECK(hosts.fabric().count(port).backlog_bytes == 0);
    }
    CHECK(held);
  }
}

TEST_CASE("a pause takes effect after the cable's delay, and the headroom holds the frames until then") {
  Hosts hosts(
      "host_count: 3\nhost_rate: 80mbit\nport_rate: 8mbit\nport_buffer: 90k\nhost_buffer: 400k\ndelay_ms: 3\n"
      "back_pressure: pause\n");
  hosts.saturate(0, {2});
  hosts.saturate(1, {2});
  hosts.run_until(kSecond);
  CHECK(hosts.drops() == 0);
  const FabricPlan plan(hosts.plan());
  const std::size_t port = plan.host_port(0);
  const FabricPort& cable = plan.ports()[port];
  CHECK(cable.limit - cable.hold == 60'000 + 2 * 1514);
  const std::uint64_t most = hosts.fabric().most_stored(port);
  CHECK(most <= cable.limit);
  CHECK(most > cable.hold + 50'000);  // the headroom is needed
  CHECK(hosts.count("h0>switch").pauses > 0);
  CHECK(hosts.count("h0>switch").paused_ns > kSecond / 2);
  CHECK(hosts.use("switch>h2") > 0.98);
}

TEST_CASE("ports that send to one host have equal parts of it, whatever the size of their frames") {
  for (const char* mode : {"pause", "credits"}) {
    Hosts hosts("host_count: 4\nhost_rate: 8mbit\nport_rate: 8mbit\nport_buffer: 40k\nhost_buffer: 100k\n" +
                fmt::format("back_pressure: {}\n", mode));
    hosts.saturate(0, {3}, 1514);
    hosts.saturate(1, {3}, 700);
    hosts.saturate(2, {3}, 100);
    hosts.run_until(3 * kSecond);
    for (const char* port : {"h0>switch", "h1>switch", "h2>switch"}) {
      CAPTURE(mode, port);
      CHECK(hosts.use(port) == Approx(1.0 / 3).margin(0.02));
    }
    CHECK(hosts.drops() == 0);
  }
}

TEST_CASE("ports carry their full rate however late the calls are") {
  Hosts hosts(star(2));
  hosts.saturate(0, {1});
  hosts.run_until(2 * kSecond, 15 * kMillisecond);
  CHECK(hosts.use("switch>h1") > 0.98);
  CHECK(hosts.fabric().lateness_us().max() >= 10'000);
}

TEST_CASE("pause frames halve a stream that shares a link with two that merge") {
  Hosts hosts(cascade("pause", 3, 0));
  hosts.saturate(0, {3});
  hosts.saturate(1, {3});
  hosts.saturate(2, {4});
  hosts.run_until(8 * kSecond);
  CHECK(hosts.use("core>d0") > 0.97);
  CHECK(hosts.use("core>d1") == Approx(0.5).margin(0.06));
  CHECK(hosts.drops() == 0);
}

TEST_CASE("credits leave the stream beside two that merge alone, unless they go to one interface card") {
  for (const bool one_card : {false, true}) {
    CAPTURE(one_card);
    Hosts hosts(cascade("credits", 3, 0, one_card));
    hosts.saturate(0, {3});
    hosts.saturate(1, {3});
    hosts.saturate(2, {4});
    hosts.run_until(8 * kSecond);
    CHECK(hosts.use("core>d0") > 0.97);
    CHECK(hosts.use("core>d1") == Approx(one_card ? 0.5 : 1.0).margin(0.06));
    CHECK(hosts.drops() == 0);
  }
}

TEST_CASE("links between switches have equal parts, however many sources are behind them") {
  for (const char* mode : {"pause", "credits"}) {
    CAPTURE(mode);
    Hosts hosts(cascade(mode, 4, 2));
    for (std::size_t source = 0; source < 6; ++source) hosts.saturate(source, {6, 7, 8});
    hosts.run_until(8 * kSecond);
    CHECK(hosts.use("r0>rack1") == Approx(0.375).margin(0.04));
    CHECK(hosts.use("r5>rack2") == Approx(0.75).margin(0.06));
    CHECK(hosts.drops() == 0);
  }
}

TEST_CASE("a host sends on after half of its buffer has left") {
  Hosts hosts(star(2));
  while (hosts.fabric().takes(0)) hosts.send(0, 1, 1514);
  CHECK(hosts.count("h0>switch").backlog_bytes >= 102'400);
  hosts.run_until(50 * kMillisecond);
  CHECK(hosts.count("h0>switch").backlog_bytes > 51'200);
  CHECK_FALSE(hosts.fabric().takes(0));
  hosts.run_until(56 * kMillisecond);
  CHECK(hosts.fabric().takes(0));
}

TEST_CASE("back-pressure needs rates, frames of the wire, and a buffer for the frames until a sender stops") {
  using Catch::ContainsSubstring;
  CHECK_THAT(problems_of("host_count: 2\nback_pressure: pause\n"),
             ContainsSubstring("lab.back_pressure") && ContainsSubstring("set host_rate"));
  CHECK_THAT(problems_of(star(2) + "offloads: all\n"), ContainsSubstring("needs frames of the wire"));
  CHECK_THAT(problems_of("topology: wan\nhost_count: 2\nhost_rate: 1gbit\nback_pressure: pause\n"),
             ContainsSubstring("is not for the topology wan"));
  CHECK_THAT(problems_of(star(2) + "port_queue: per-dcm\n"),
             ContainsSubstring("is not for port_queue: per-dcm"));
  CHECK_THAT(problems_of(star(2) + "changes: [{host: h1, port_rate: 1mbit}]\n"),
             ContainsSubstring("its ports keep their rates"));
  CHECK_THAT(problems_of(star(2) + "delay_ms: 20\n"),
             ContainsSubstring("needs 44542 bytes of buffer at switch>h0") && ContainsSubstring("has 20480"));
  CHECK_THAT(problems_of(star(9, "credits")), ContainsSubstring("8 streams of 4542 bytes"));
  CHECK_THAT(problems_of(star(2) + "hosts: [{name: a, card: 1}]\n"),
             ContainsSubstring("lab.hosts[0].card: needs back_pressure: credits"));
  CHECK(problems_of("topology: wan\nhost_count: 2\nback_pressure: none\n").empty());
}

}  // namespace weir::lab
