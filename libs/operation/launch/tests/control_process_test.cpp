#include "weir_catch.hpp"
#include <weir/launch/control_process.hpp>

namespace weir::launch {
namespace {

TEST_CASE("run control's address is known once it has reported all of it") {
  CHECK_FALSE(control_place("", "127.0.0.1:0").has_value());
  CHECK_FALSE(control_place("run-control 4711 publish 1 subscribe 2\n", "127.0.0.1:0").has_value());
  CHECK_FALSE(control_place("run-control 4711 publish 1 subscribe 2\npage http://127.0.0.1:80", "127.0.0.1:0")
                  .has_value());
  const auto place =
      control_place("run-control 4711 publish 1 subscribe 2\npage http://127.0.0.1:8081/\n", "10.0.0.1:0");
  REQUIRE(place.has_value());
  CHECK(place->at == "10.0.0.1:4711");
  CHECK(place->page == "127.0.0.1:8081");
  const auto encrypted =
      control_place("run-control 1 publish 1 subscribe 2\npage https://[::1]:8081/\n", "[::1]:0");
  REQUIRE(encrypted);
  CHECK(encrypted->page == "[::1]:8081");
  CHECK(encrypted->page_url == "https://[::1]:8081/");
  const auto without = control_place("run-control 4711 publish 1 subscribe 2\npage none\n", "[::1]:0");
  REQUIRE(without.has_value());
  CHECK(without->at == "[::1]:4711");
  CHECK(without->page.empty());
}

TEST_CASE("run control reports in its own line that it ends the farm") {
  const std::string begun = "run-control 4711 publish 1 subscribe 2\npage http://127.0.0.1:8081/off\n";
  CHECK_FALSE(control_says_off(begun));
  CHECK(control_says_off(begun + "off\n"));
}

TEST_CASE("run control as a child gets the given settings, and no page unless requested") {
  const ChildSettings child =
      control_child({"/bin", "farm.yaml", {"a=1"}, "127.0.0.1:0", "", "", "log", 20, {"--one-run"}});
  CHECK(child.program == "/bin/weir-run-control");
  CHECK(child.arguments == std::vector<std::string>{"--farm", "farm.yaml", "--listen", "127.0.0.1:0", "--set",
                                                    "a=1", "--one-run"});
  CHECK(child.read_output);
}

TEST_CASE("keys that cannot be read are named, and a farm without keys needs none") {
  const auto open = bus_client("127.0.0.1:7700", "", security::BusRole::operator_);
  REQUIRE(open.has_value());
  CHECK(open->port == 7700);
  CHECK_FALSE(open->keys.has_value());
  const auto closed = bus_client("127.0.0.1:7700", "/there/is/no/such/folder", security::BusRole::operator_);
  REQUIRE_FALSE(closed.has_value());
  CHECK(closed.error().find("/there/is/no/such/folder") != std::string::npos);
}

TEST_CASE("the address of a page is refused as that of run control, with the key that has the right one") {
  const auto page = bus_client("https://daq.example.org:8443/", "", security::BusRole::operator_);
  REQUIRE_FALSE(page.has_value());
  CHECK(page.error() ==
        "'https://daq.example.org:8443/' is an address of a page: give HOST:PORT of run control's bus, "
        "control.listen in the farm file");
}

}  // namespace
}  // namespace weir::launch
