// Tests of filter steps that run longer than every timeout.
#include "controlled_farm.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

using namespace weir::system_test;

namespace {

constexpr int kStartAgain = 75;
constexpr int kUnits = 2;
const std::vector<std::string> kNodes = {"supervisor", "writer-0", "readout-0", "dcm-0"};

std::string farm_text(const std::string& while_there) {
  return "trigger: {mode: rate, rate_hz: 100}\nreadout: {count: 1}\ndcm: {count: 1, processing_units: " +
         std::to_string(kUnits) +
         "}\n"
         "filter: {plugin: dwells, search_path: [" WEIR_SYSTEM_PLUGIN_DIR
         "], parameters: {seconds: 60, while: " +
         while_there + "}}\n";
}

// A run is on, and both processing units are in a step that does not end.
void begin_to_dwell(const ControlledFarm& farm, const std::string& dwell) {
  farm.begin_run();
  const auto steps = [&] {
    const std::string lines = read_file(dwell);
    return std::count(lines.begin(), lines.end(), '\n');
  };
  REQUIRE(wait_until([&] { return steps() == kUnits; }, Seconds(30)));
}

}  // namespace

TEST_CASE("a DCM whose filter is still busy after a reset restarts, and the next run is complete") {
  const TemporaryFolder folder;
  const std::string dwell = folder.write("dwell", "");
  ControlledFarm farm(folder, farm_text(dwell), kNodes);
  begin_to_dwell(farm, dwell);

  farm.must({"reset"});
  INFO(farm.logs());
  CHECK(farm.node("dcm-0").wait(Seconds(20)) == kStartAgain);
  CHECK_THAT(farm.node("dcm-0").err(), Catch::ContainsSubstring("a filter step did not end"));

  std::filesystem::remove(dwell);
  farm.start_node("dcm-0");
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "idle"; }, Seconds(20)));
  farm.begin_run();
  REQUIRE(wait_until([&] { return farm.state_of("dcm-0") == "running"; }, Seconds(20)));
  farm.stop_good();
  CHECK(farm.record(2).at("ledger_balanced").as_bool());
}

TEST_CASE("a DCM whose filter is still busy ends with the status of its signal") {
  const TemporaryFolder folder;
  const std::string dwell = folder.write("dwell", "");
  ControlledFarm farm(folder, farm_text(dwell), kNodes);
  begin_to_dwell(farm, dwell);

  farm.node("dcm-0").send_signal(SIGTERM);
  INFO(farm.logs());
  CHECK(farm.node("dcm-0").wait(Seconds(20)) == 128 + SIGTERM);
}
