// Run control that acts on its own, as the farm file's rules say.
#include "controlled_farm.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <csignal>
#include <filesystem>
#include <string>

namespace {

using Catch::Matchers::ContainsSubstring;

using namespace weir::system_test;

constexpr int kStartAgain = 75;  // exit status that asks the process manager for a restart

const std::vector<std::string> kNodes = {"supervisor", "readout-0", "dcm-0", "dcm-1", "writer-0"};

std::string farm_text(const std::string& more = {}) {
  return "farm: rules\n"
         "trigger: {mode: rate, rate_hz: 200}\n"
         "source: {kind: dummy, distribution: fixed, size_bytes: 500}\n"
         "readout: {count: 1, sources_per_readout: 2}\n"
         "dcm: {count: 2}\n"
         "supervisor: {status_interval_ms: 200}\n"
         "writer: {count: 1, sync_interval_ms: 20}\n" +
         more;
}

void check_balanced(const ControlledFarm& farm) {
  farm.stop_with_faults("dcm-1");
  const boost::json::value record = farm.record(1);
  CHECK(record.at("ledger_balanced").as_bool());
  CHECK(record.at("stored").to_number<std::uint64_t>() > 0);
}

}  // namespace

TEST_CASE(
    "a rule ends each run and starts the next, until another ends the last: three runs, each balanced") {
  const TemporaryFolder folder;
  const ControlledFarm farm(
      folder, farm_text(), kNodes,
      ", rules: [{name: rotate, when: run_seconds, value: 2, do: start-next, again_s: 1, times_max: 2},"
      " {name: last, when: run_seconds, value: 6, do: stop}]");
  farm.begin_run();
  const bool over = wait_until(
      [&] {
        const boost::json::value view = farm.status();
        return view.at("runs").as_array().size() == 3 && view.at("state").as_string() == "ready" &&
               view.at("under_way").as_string().empty();
      },
      Seconds(90));
  INFO(farm.events());
  REQUIRE(over);
  const boost::json::value view = farm.status();
  const boost::json::array& runs = view.at("runs").as_array();  // newest first
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const boost::json::object& run = runs[i].as_object();
    CHECK(run.at("run").to_number<int>() == 3 - static_cast<int>(i));
    CHECK(run.at("balanced").as_bool());
    CHECK(std::string(run.at("stored").as_string()) != "0");
    CHECK_THAT(
        std::string(run.at("reason").as_string()),
        ContainsSubstring(i == 0 ? "rule last: the run was started" : "rule rotate: the run was started"));
  }
  CHECK_THAT(farm.events(), ContainsSubstring("end the run and start the next"));
  CHECK_THAT(farm.events(), ContainsSubstring("rule rotate: the next run starts"));
  CHECK(std::filesystem::exists(farm.out() + "/run-000003-end.json"));
}

// A DCM that is restarted in the run, and whose filter refuses every run until `mend`: its state is error
// until then.
struct BrokenDcm {
  explicit BrokenDcm(const std::string& rule)
      : farm(folder,
             farm_text("filter: {plugin: stumbles, search_path: [" WEIR_SYSTEM_PLUGIN_DIR
                       "], parameters: {refuses_while: '" +
                       broken + "'}}\n"),
             kNodes,
             ", rules: [{name: mend, when: process_error, of: [dcm], again_s: 1, do: " + rule + "}]") {
    farm.begin_run();
    folder.write("broken", "");
    farm.kill_node("dcm-1");
    farm.start_node("dcm-1");
  }
  void mend() const { std::filesystem::remove(broken); }
  [[nodiscard]] bool is_back() const {
    return wait_until([&] { return farm.state_of("dcm-1") == "running"; }, Seconds(60));
  }

  const TemporaryFolder folder;
  const std::string broken = folder / "broken";
  ControlledFarm farm;
};

TEST_CASE("a rule resets a process in error, and it is led back into the run") {
  BrokenDcm broken("reset");
  const ControlledFarm& farm = broken.farm;
  const bool fired = wait_until(
      [&] { return farm.events().find("rule mend: dcm-1 in error") != std::string::npos; }, Seconds(60));
  INFO(farm.events() << farm.logs());
  REQUIRE(fired);
  CHECK(farm.state() == "running");
  broken.mend();
  CHECK(broken.is_back());
  check_balanced(farm);
}

TEST_CASE("a rule has a process in error started again, and it is led back into the run") {
  BrokenDcm broken("restart");
  const auto status = broken.farm.node("dcm-1").wait(Seconds(60));
  INFO(broken.farm.events() << broken.farm.logs());
  REQUIRE(status == kStartAgain);
  broken.mend();
  broken.farm.start_node("dcm-1");  // as its manager does
  CHECK(broken.is_back());
  check_balanced(broken.farm);
}
