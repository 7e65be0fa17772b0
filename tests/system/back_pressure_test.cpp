// Tests of labs with back-pressure. Need root and /dev/net/tun; else ctest shows SKIPPED.
#include "farm_run.hpp"
#include "kept_lab.hpp"
#include "needs_root.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

using namespace weir;
using namespace weir::system_test;

namespace json = boost::json;

double number(const json::object& object, const char* key) { return object.at(key).to_number<double>(); }

}  // namespace

#define NEEDS_TUN()                                                   \
  if (!std::filesystem::exists("/dev/net/tun")) {                     \
    weir::skip_test("switches with back-pressure need /dev/net/tun"); \
    return;                                                           \
  }                                                                   \
  static_cast<void>(0)

TEST_CASE("switches with back-pressure drop nothing under overload, and the summary counts the pauses") {
  NEEDS_ROOT();
  const TemporaryFolder folder;
  NEEDS_TUN();
  const FarmEnd end = run_farm(
      folder, config_file("all-to-all-6x2.yaml"),
      {"--lab", config_file("lab/pause-6.yaml"), "--slices", "120", "--set", "dcm.shaper=none", "--set",
       "dcm.credits=2", "--set", "source.size_bytes=16384", "--set", "lab.window_segments=100"});
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("rejected") == 120);
  CHECK(end.summary.text("lab.back_pressure") == "pause");
  CHECK(end.summary.count("lab.relay.switches") == 1);
  CHECK(end.summary.count("port_drops") == 0);
  double pauses = 0;
  for (const auto& value : end.summary.json().at("ports").as_array()) {
    const json::object& port = value.as_object();
    CAPTURE(std::string(port.at("name").as_string()));
    CHECK(number(port, "bytes") > 0);
    CHECK(number(port, "use") <= 1.02);
    CHECK(number(port, "paused_s") >= 0);
    pauses += number(port, "pauses");
  }
  CHECK(pauses > 0);
}

TEST_CASE("a permanent lab with back-pressure has a process that carries its frames, until it is removed") {
  NEEDS_ROOT();
  NEEDS_TUN();
  const TemporaryFolder folder;
  const std::string name = "test" + std::to_string(::getpid());
  const std::string lab = folder.write(
      "lab.yaml", "lab: " + name + "\nhost_count: 3\nport_rate: 10mbit\nhost_rate: 10mbit\n" +
                      "back_pressure: pause\nwindow_segments: 4\n");  // its hosts meet over the fabric
  const TakenDown taken_down{folder, lab};
  const auto up = run_command(folder, "weir", {"lab", "up", lab});
  INFO(up.err);
  REQUIRE(up.status == 0);
  CHECK(processes_naming(lab).size() == 1);
  const auto status = run_command(folder, "weir", {"lab", "status", lab});
  CHECK(status.status == 0);
  CHECK_THAT(status.out, Catch::ContainsSubstring("switch>h0 "));
  CHECK_THAT(status.out, Catch::ContainsSubstring(" frames sent, 0 dropped"));
  CHECK(run_command(folder, "weir", {"lab", "down", lab}).status == 0);
  CHECK(wait_until([&] { return processes_naming(lab).empty(); }, Seconds(30)));
}
