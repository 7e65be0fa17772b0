// Run control that acts on its own, as the farm file's rules say.
#include "ruled_farm.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <filesystem>
#include <string>

namespace {

using Catch::Matchers::ContainsSubstring;

using namespace weir::system_test;

std::string farm_text(const TemporaryFolder& folder, const std::string& more) {
  return "farm: rules\n"
         "run: {out: '" +
         folder / "out" +
         "'}\n"
         "trigger: {mode: rate, rate_hz: 200}\n"
         "source: {kind: dummy, distribution: fixed, size_bytes: 500}\n"
         "readout: {count: 1, sources_per_readout: 2}\n"
         "dcm: {count: 2}\n"
         "supervisor: {status_interval_ms: 200}\n"
         "writer: {count: 1, sync_interval_ms: 20}\n" +
         more;
}

const RuledFarm::Programs kPrograms = {{"supervisor", "weir-supervisor"},
                                       {"readout-0", "weir-readout"},
                                       {"dcm-0", "weir-dcm"},
                                       {"dcm-1", "weir-dcm"},
                                       {"writer-0", "weir-writer"}};

void begin_run(const RuledFarm& farm) {
  for (const char* command : {"init", "configure", "start"}) {
    const CommandEnd end = farm.ctl({command});
    INFO(command << ": " << end.err);
    REQUIRE(end.status == 0);
  }
}

}  // namespace

TEST_CASE(
    "a rule ends each run and starts the next, until another ends the last: three runs, each balanced") {
  const TemporaryFolder folder;
  const RuledFarm farm(
      folder,
      folder.write("farm.yaml",
                   farm_text(folder,
                             "control:\n"
                             "  listen: 127.0.0.1:0\n"
                             "  rules:\n"
                             "    - {name: rotate, when: run_seconds, value: 2, do: start-next, again_s: 1, "
                             "times_max: 2}\n"
                             "    - {name: last, when: run_seconds, value: 6, do: stop}\n")),
      kPrograms);
  begin_run(farm);
  const bool over = wait_until(
      [&] {
        const auto view = farm.status();
        return view.at("runs").as_array().size() == 3 && farm.state() == "ready";
      },
      Seconds(90));
  INFO(farm.events());
  REQUIRE(over);
  const boost::json::object view = farm.status();
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
  CHECK_THAT(farm.events(), ContainsSubstring("rule rotate: run 3 starts"));
  CHECK(std::filesystem::exists(folder.path() / "out" / "run-000003-end.json"));
}
