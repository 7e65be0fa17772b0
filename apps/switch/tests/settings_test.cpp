#include "../src/settings.hpp"

#include "weir_catch.hpp"

#include <fstream>
#include <iterator>
#include <string>

namespace weir::switch_node {
namespace {

constexpr const char* kFile =
    "name: daq\nports:\n  - {interface: eth1, addresses: [10.0.0.1, 10.0.0.2]}\n"
    "  - {interface: eth2, rate: 10gbit, obey_pauses: true, transmit_packets: 32}\n"
    "rings:\n  - {name: dcm-0, address: 10.0.0.9, via: eth2, packets: 100, rate: 780mbit, burst: 48k}\n"
    "  - {name: dcm-1, address: 10.0.0.9, port: 4711, via: eth2}\n";

std::string problems_of(const std::string& text) {
  const auto file = config::read_switch(text, "switch.yaml");
  REQUIRE(file.has_value());
  const auto settings = settings_of(*file);
  return settings ? std::string() : config::to_text(settings.error());
}

TEST_CASE("a switch file becomes ports, routes and rings") {
  const auto file = config::read_switch(kFile, "switch.yaml");
  REQUIRE(file.has_value());
  const auto settings = settings_of(*file);
  REQUIRE(settings.has_value());
  CHECK(settings->interfaces[1].device == "eth2");
  CHECK(settings->interfaces[1].transmit_frames == 32);
  CHECK(settings->interfaces[1].sockets == packet_switch::Sockets::packet);
  CHECK(settings->machine.ports[1].bits_per_s == 10'000'000'000);
  CHECK(settings->machine.routes.size() == 2);
  REQUIRE(settings->machine.rings.size() == 2);
  CHECK(settings->machine.rings[0].address == 0x0a000009);
  CHECK(settings->machine.rings[0].via == 1);
  CHECK(settings->machine.rings[0].burst_bytes == 49'152);
  CHECK(settings->machine.rings[1].port == 4711);
}

TEST_CASE("the sockets of a switch file are those of each port") {
  const auto sockets_of = [](const std::string& word) {
    const auto file = config::read_switch(kFile + ("sockets: " + word + "\n"), "switch.yaml");
    REQUIRE(file.has_value());
    return settings_of(*file)->interfaces[1].sockets;
  };
  CHECK(sockets_of("packet") == packet_switch::Sockets::packet);
  CHECK(sockets_of("xdp") == packet_switch::Sockets::xdp);
  CHECK(sockets_of("xdp-generic") == packet_switch::Sockets::xdp_generic);
}

TEST_CASE("the switch file of docs/switching.md is valid") {
  std::ifstream stream(WEIR_SOURCE_DIR "/docs/switching.md");
  const std::string page(std::istreambuf_iterator<char>(stream), {});
  const std::size_t begin = page.find("```yaml\n");
  REQUIRE(begin != page.npos);
  const std::string text = page.substr(begin + 8, page.find("```", begin + 8) - begin - 8);
  CHECK(problems_of(text).empty());
}

TEST_CASE("mistakes of a switch file are named with line and key") {
  const std::string ports = "ports: [{interface: eth1}, {interface: eth2}]\n";
  CHECK(problems_of(ports + "rings: [{name: a, address: 10.0.0.9, via: eth3}]\n") ==
        "switch.yaml:2: rings[0].via: `ports` has no interface 'eth3'");
  CHECK(problems_of(ports + "rings: [{name: a, address: here, via: eth1}]\n") ==
        "switch.yaml:2: rings[0].address: 'here' is not an IPv4 address, as 10.0.0.1");
  CHECK(problems_of("ports: [{interface: eth1}, {interface: eth1}]\n") ==
        "switch.yaml:1: ports[1].interface: 'eth1' is a port already");
  CHECK(problems_of("name: daq\n") == "switch.yaml: ports: a switch needs a port");
  CHECK(problems_of("ports: [{interface: eth1, obey_pauses: true}]\n") ==
        "switch.yaml:1: ports: port eth1: pauses need the link's rate");
}

}  // namespace
}  // namespace weir::switch_node
