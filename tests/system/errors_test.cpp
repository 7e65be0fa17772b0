// Runs in which plugins fail: what failed is named, and the run's status says so.
#include "farm_run.hpp"
#include "weir_catch.hpp"

#include <boost/json.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace weir::system_test;
using Catch::ContainsSubstring;

constexpr std::uint64_t kSlices = 400;
const std::string kPlugins = WEIR_SYSTEM_PLUGIN_DIR;

std::vector<std::string> arguments_of(const std::vector<std::string>& more, std::uint64_t slices = kSlices) {
  std::vector<std::string> assignments{"source.distribution=fixed",
                                       "readout.count=2",
                                       "readout.sources_per_readout=2",
                                       "supervisor.status_interval_ms=100",
                                       "filter.workers.start_timeout_ms=20000",
                                       "supervisor.lease_ms=120000"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(slices)});
  return arguments;
}

FarmEnd run(const TemporaryFolder& folder, const std::vector<std::string>& more, bool quiet = false) {
  std::vector<std::string> arguments = arguments_of(more);
  if (quiet) arguments.emplace_back("--quiet");
  return FarmRun(folder, config_file("event-building.yaml"), arguments).finish();
}

std::vector<std::string> with_filter(std::vector<std::string> parameters, const std::string& isolation) {
  std::vector<std::string> all{"filter.plugin=" + kPlugins + "/stumbles.so", "filter.isolation=" + isolation};
  for (std::string& one : parameters) all.push_back("filter.parameters." + std::move(one));
  return all;
}

std::vector<std::string> with_source(const std::vector<std::string>& parameters) {
  std::vector<std::string> all{"source.kind=plugin", "source.plugin=" + kPlugins + "/fickle.so"};
  for (const std::string& one : parameters) all.push_back("source.parameters." + one);
  return all;
}

std::string faults_of(const FarmEnd& end) {
  std::string text;
  for (const auto& fault : end.summary.json().at("faults").as_array()) {
    text += std::string(fault.as_string()) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a filter that fails for every slice is a fault with its reason, in every mode and with --quiet") {
  for (const std::string isolation : {"in-process", "worker"}) {
    for (const std::string on_error : {"accept", "reject"}) {
      INFO(isolation << " " << on_error);
      const TemporaryFolder folder;
      std::vector<std::string> settings = with_filter({"every=1"}, isolation);
      settings.push_back("filter.on_error=" + on_error);
      const FarmEnd end = run(folder, settings, true);
      CHECK_BALANCED(end, 3);
      CHECK(end.summary.count(on_error == "accept" ? "stored" : "rejected") == kSlices);
      CHECK_THAT(faults_of(end),
                 ContainsSubstring("the filter failed for 400 of 400 slices (filter_error 400), "
                                   "first on dcm-"));
      CHECK_THAT(faults_of(end), ContainsSubstring("stumbles over slice "));
      CHECK_THAT(end.err, ContainsSubstring("the filter failed for 400 of 400 slices"));
    }
  }
}

TEST_CASE("failures within the configured share leave a run good") {
  const TemporaryFolder folder;
  std::vector<std::string> settings = with_filter({"every=200"}, "in-process");
  const FarmEnd end = run(folder, settings);
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("filter.filter_error") == 2);
  CHECK(end.summary.json().at("faults").as_array().empty());
}

TEST_CASE("poison beyond the share is a fault with the way in which its workers ended") {
  const TemporaryFolder folder;
  const FarmEnd end = run(folder, with_filter({"dies_every=50"}, "worker"));
  CHECK_BALANCED(end, 3);
  CHECK_THAT(faults_of(end),
             ContainsSubstring("the filter failed for 8 of 400 slices (poison 8), first on dcm-"));
}

TEST_CASE("a plugin that refuses the run keeps it from beginning, with its own sentence") {
  for (const std::string which : {"in-process", "worker", "source"}) {
    INFO(which);
    const TemporaryFolder folder;
    const std::string file = folder.write("obstacle", "");
    FarmRun farm(folder, config_file("event-building.yaml"),
                 arguments_of(which == "source" ? with_source({"refuses_while=" + file})
                                                : with_filter({"refuses_while=" + file}, which)));
    const FarmEnd end = farm.finish();
    INFO(describe(end));
    CHECK(end.status == 1);
    CHECK_THAT(end.err, ContainsSubstring(file + " is there"));
    CHECK(farm.log("supervisor").find("run began") == std::string::npos);
  }
}

TEST_CASE("a process that cannot begin the run again is a fault, and the others build every slice") {
  const TemporaryFolder folder;
  const std::string file = folder / "obstacle";
  std::vector<std::string> settings = with_filter({"refuses_while=" + file}, "in-process");
  settings.insert(settings.end(), {"trigger.mode=rate", "trigger.rate_hz=100"});
  FarmRun farm(folder, config_file("event-building.yaml"), arguments_of(settings, 300));
  REQUIRE(farm.wait_for_log("supervisor", "run began"));
  folder.write("obstacle", "");
  farm.send_signal("dcm-1", SIGKILL);
  const FarmEnd end = farm.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == 300);
  CHECK_THAT(faults_of(end),
             ContainsSubstring("dcm-1 could not begin the run: ") && ContainsSubstring("is there"));
}

TEST_CASE("a plugin that cannot end the run is a fault") {
  for (const std::string which : {"in-process", "worker", "source"}) {
    INFO(which);
    const TemporaryFolder folder;
    const FarmEnd end = run(
        folder, which == "source" ? with_source({"what=end"}) : with_filter({"stumbles_at_end=true"}, which));
    CHECK_BALANCED(end, 3);
    CHECK(end.summary.count("stored") == kSlices);
    CHECK_THAT(faults_of(end),
               ContainsSubstring(which == "source" ? "could not end the run: the crate does not answer"
                                                   : "the filter could not end the run: stumbles at"));
  }
}

TEST_CASE("a source that cannot make its fragments is a fault, and one without data is not") {
  const TemporaryFolder fails;
  const FarmEnd failed = run(fails, with_source({"what=make"}));
  CHECK_BALANCED(failed, 3);
  CHECK(failed.summary.count("fragments.missing.not_produced") == 4 * kSlices);
  CHECK_THAT(faults_of(failed),
             ContainsSubstring("source 1: 400 of 400 fragments could not be made (make_failed 400)"));
  const TemporaryFolder none;
  const FarmEnd absent = run(none, with_source({"what=absent"}));
  CHECK_BALANCED(absent, 0);
  CHECK(absent.summary.count("fragments.missing.not_produced") == 4 * kSlices);
}
