#include "weir_catch.hpp"
#include <weir/config/lab_file.hpp>

#include <string>

using namespace weir;

namespace {

std::string lab_problems(const std::string& text) {
  const auto file = config::read_lab(text, "lab.yaml");
  return file ? std::string() : config::to_text(file.error());
}

}  // namespace

TEST_CASE("a lab file is read as the farm file is, key by key") {
  const auto file = config::read_lab(
      "lab: two\nport_rate: 200mbit\nhosts:\n  - {name: a, nodes: [readout-0, dcm-0]}\n  - name: b\n"
      "sysctls: {ipv4.tcp_timestamps: 0}\n",
      "lab.yaml");
  REQUIRE(file.has_value());
  CHECK(file->lab.lab() == "two");
  CHECK(file->lab.port_rate() == "200mbit");
  REQUIRE(file->lab.hosts_size() == 2);
  CHECK(file->lab.hosts(0).nodes(1) == "dcm-0");
  CHECK(file->lab.sysctls().at("ipv4.tcp_timestamps") == "0");
  CHECK(file->lab.port_buffer() == "100k");
}

TEST_CASE("a mistake in a lab file is named with its line and the nearest key") {
  CHECK(lab_problems("lab: x\nport_rat: 1gbit\n") ==
        "lab.yaml:2: port_rat: unknown key; did you mean 'port_rate'?");
  CHECK(lab_problems("port_rate: quick\n") ==
        "lab.yaml:1: port_rate: 'quick' is not a rate: write 1gbit, 200mbit, 2.5gbit or unlimited");
  CHECK(lab_problems("port_buffer: 1.5m\n") ==
        "lab.yaml:1: port_buffer: '1.5m' is not a size: write bytes, or as in 100k (102400 bytes), 4m");
  CHECK(lab_problems("hosts: [{nodes: [dcm-0]}]\n") == "lab.yaml:1: hosts[0].name: missing");
}

TEST_CASE("a key of the lab is set on the command line with lab. in front") {
  auto file = config::read_lab("lab: x\n", "lab.yaml");
  REQUIRE(file.has_value());
  CHECK(config::apply_lab_override(*file, "lab.port_rate=50mbit").empty());
  CHECK(config::apply_lab_override(*file, "lab.racks.count=3").empty());
  CHECK(config::apply_lab_override(*file, "lab.sysctls.ipv4.tcp_timestamps=0").empty());
  CHECK(file->lab.port_rate() == "50mbit");
  CHECK(file->lab.racks().count() == 3);
  CHECK(file->lab.sysctls().at("ipv4.tcp_timestamps") == "0");
  CHECK(file->locations.of("port_rate") == "--set");
  CHECK(config::to_text(config::apply_lab_override(*file, "lab.port_rat=1gbit")) ==
        "--set lab.port_rat: unknown key; did you mean 'lab.port_rate'?");
  CHECK(config::to_text(config::apply_lab_override(*file, "lab.port_rate")) ==
        "--set lab.port_rate: write key=value");
}
