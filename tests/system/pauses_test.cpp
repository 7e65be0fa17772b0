// Processes of a farm that are stopped for longer than the farm's time limits, and go on: by a batch system,
// a frozen container or virtual machine, a debugger.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 800;
constexpr Seconds kPause{3};

// 800 slices in 4 s, with time limits that are shorter than kPause.
std::vector<std::string> short_limits() {
  std::vector<std::string> arguments =
      sets({"trigger.mode=rate", "trigger.rate_hz=200", "readout.count=2", "control.heartbeat_ms=200",
            "control.silence_ms=600", "control.return_s=1", "supervisor.lease_ms=1000", "dcm.deadline_ms=800",
            "writer.count=1"});
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return arguments;
}

void pause(const std::vector<pid_t>& processes, Seconds apart = Seconds(0)) {
  for (const pid_t pid : processes) REQUIRE(::kill(pid, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, kPause);  // the length is what is tested
  for (const pid_t pid : processes) {
    CHECK(::kill(pid, SIGCONT) == 0);
    if (apart.count() > 0) (void)wait_until([] { return false; }, apart);
  }
}

void check_all_stored(const FarmEnd& end, const std::string& out) {
  INFO(describe(end));
  CHECK(end.summary.count("triggered") == kSlices);
  CHECK(end.summary.count("stored") == kSlices);
  const StoredRun run(out);
  CHECK(run.ids().size() == kSlices);
  CHECK(run.problems() == "");
}

}  // namespace

TEST_CASE("a farm of which all processes are stopped for longer than its limits goes on as before") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), short_limits());
  REQUIRE(run.wait_for_data(20'000));
  std::vector<pid_t> all;
  for (const RunningProcess& one : processes_naming(folder.path().string())) all.push_back(one.pid);
  REQUIRE(all.size() >= 7);
  pause(all);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_all_stored(end, run.out());
  CHECK(end.summary.count_all("fragments.missing") == 0);
  CHECK(run.log("supervisor").find("stood still for 3.") != std::string::npos);
}

TEST_CASE("processes of a stopped farm that go on one after another lose no slice") {
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), short_limits());
  REQUIRE(run.wait_for_data(20'000));
  std::vector<pid_t> all;
  for (const RunningProcess& one : processes_naming(folder.path().string())) all.push_back(one.pid);
  pause(all, Seconds(0.1));
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK((end.status == 0 || end.status == 3));  // a DCM that was away too long for the others is a fault
  CHECK(end.summary.balanced());
  check_all_stored(end, run.out());
}

TEST_CASE("a process that leads the run is stopped alone, and the run goes on") {
  const std::string name = GENERATE("weir", "run-control", "supervisor");
  CAPTURE(name);
  std::vector<std::string> arguments = short_limits();
  // The others judge it, and rightly so: longer than the pause.
  arguments.insert(arguments.end(), {"--set", "control.return_s=30"});
  const TemporaryFolder folder;
  FarmRun run(folder, config_file("event-building.yaml"), arguments);
  REQUIRE(run.wait_for_data(20'000));
  pause({name == "weir" ? run.process().pid() : run.pid_of(name)});
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  check_all_stored(end, run.out());
}
