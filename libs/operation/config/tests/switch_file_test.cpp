#include "weir_catch.hpp"
#include <weir/config/switch_file.hpp>

namespace weir {
namespace {

TEST_CASE("a switch file is read as the farm file is, key by key") {
  const auto file = config::read_switch(
      "name: daq\nports:\n  - {interface: eth1, addresses: [10.0.0.1]}\n  - interface: eth2\n"
      "rings: [{name: dcm-0, address: 10.0.0.9, via: eth2, rate: 780mbit}]\n",
      "switch.yaml");
  REQUIRE(file.has_value());
  CHECK(file->settings.ports(0).addresses(0) == "10.0.0.1");
  CHECK(file->settings.rings(0).rate() == "780mbit");
  CHECK(file->settings.rings(0).packets() == 4096);
}

TEST_CASE("a mistake in a switch file is named with its line and the nearest key") {
  const auto file = config::read_switch("name: daq\nportss: []\n", "switch.yaml");
  REQUIRE_FALSE(file.has_value());
  CHECK(config::to_text(file.error()) == "switch.yaml:2: portss: unknown key; did you mean 'ports'?");
}

TEST_CASE("a key of the switch is set on the command line") {
  auto file = config::read_switch("name: daq\n", "switch.yaml");
  REQUIRE(file.has_value());
  CHECK(config::apply_switch_override(*file, "queues=one").empty());
  CHECK(file->settings.queues() == v1::Switch::QUEUES_ONE);
  CHECK_FALSE(config::apply_switch_override(*file, "queues=two").empty());
}

}  // namespace
}  // namespace weir
