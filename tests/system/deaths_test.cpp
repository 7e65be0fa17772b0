#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::uint64_t kSlices = 3000;
constexpr std::uint64_t kSources = 8;

std::string farm() { return config_file("event-building.yaml"); }

// 3000 slices in 3 s: time to do something to the farm.
std::vector<std::string> three_seconds(const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=1000",
                                       "supervisor.status_interval_ms=100", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return arguments;
}

// Checks that every triggered slice is stored once, with the bytes that the sources made.
DummyCheck check_stored_once(const TemporaryFolder& folder, const FarmEnd& end) {
  CHECK(end.summary.count("triggered") == kSlices);
  CHECK(end.summary.count("stored") == kSlices);
  const StoredRun run(folder / "out");
  CHECK(run.ids().size() == kSlices);
  DummyCheck check = check_dummy_data(run);
  CHECK(check.wrong == "");
  CHECK(check.slices == kSlices);
  return check;
}

void check_nothing_left(const TemporaryFolder& folder) {
  CHECK(wait_until([&] { return processes_naming(folder.path().string()).empty(); }, Seconds(10)));
}

std::uint64_t exits(const Summary& summary, const std::string& name, int status) {
  std::uint64_t found = 0;
  for (const auto& process : summary.json().at("processes").as_array()) {
    const bool ended_so = process.at("exit_status").as_int64() == status;
    found += process.at("name").as_string() == name && ended_so ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("a DCM that is killed is started again and every slice is stored once") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
  CHECK(exits(end.summary, "dcm-0", -9) == 1);
  CHECK(exits(end.summary, "dcm-0", 0) == 1);
  CHECK_THAT(end.out,
             Catch::ContainsSubstring("dcm-0 ended with signal 9") &&
                 Catch::ContainsSubstring("1 DCM lost: these figures lack its counts after the last report"));
  CHECK(end.summary.count("fragments.dcms_lost") == 1);
  CHECK(end.summary.json().at("sources").at("incomplete") == boost::json::array{"dcm-0"});
}

TEST_CASE("histograms lack at most a killed DCM's entries since its last report, and name it") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/stumbles.so"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  const boost::json::value document =
      boost::json::parse(read_file(folder / "out/run-000001-histograms.json"));
  CHECK(document.at("incomplete") == boost::json::value(boost::json::array{"dcm-0"}));
  const boost::json::value& histogram = document.at("histograms").at(0);
  const auto entries = histogram.at("entries").to_number<std::uint64_t>();
  CHECK(entries <= kSlices);
  CHECK(entries > kSlices / 2);
  std::uint64_t in_bins = 0;
  for (const auto& bin : histogram.at("contents").as_array()) in_bins += bin.to_number<std::uint64_t>();
  CHECK(in_bins == entries);
}

TEST_CASE("a DCM that ends with status 0 in the middle of a run is restarted like one that is killed") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/stumbles.so",
                             "filter.parameters.ends_once=" + (folder / "ended"), "dcm.count=1"}));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_stored_once(folder, end);
  CHECK(exits(end.summary, "dcm-0", 0) == 2);
  CHECK_THAT(end.out, Catch::ContainsSubstring("dcm-0 ended with status 0: restarting (1 of 3)"));
}

TEST_CASE("a DCM that ends by SIGTERM in the middle of a run is restarted") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("dcm-0", SIGTERM));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
  CHECK(exits(end.summary, "dcm-0", 128 + SIGTERM) == 1);
  CHECK(exits(end.summary, "dcm-0", 0) == 1);
}

TEST_CASE("the other DCM continues alone if no process is restarted") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"run.restart=never"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("dcm-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
  CHECK(exits(end.summary, "dcm-1", 0) == 0);
}

TEST_CASE("the death of the last DCM ends the run with that reason") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"run.restart=never", "dcm.count=1", "run.drain_timeout_s=1"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK(end.status == 1);
  CHECK_THAT(end.err, Catch::ContainsSubstring("no DCM is left"));
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.count("stored") > 0);
  check_nothing_left(folder);
}

TEST_CASE("a supervisor that is killed twice is restarted and resumes the run") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(300'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  REQUIRE(run.wait_for_data(1'000'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
  CHECK(exits(end.summary, "supervisor", -9) == 2);
  CHECK_THAT(end.out, Catch::ContainsSubstring("the supervisor was restarted"));
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out"))
    CHECK(entry.path().string().find(".journal") == std::string::npos);
}

TEST_CASE(
    "a supervisor that is killed while it collects final reports is restarted, and the run has its account") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  const pid_t readout = run.pid_of("readout-1");  // looked for before: a run may be over in no time
  REQUIRE(readout != 0);
  run.process().send_signal(SIGINT);
  // Its report is waited for: the others have ended their part.
  REQUIRE(::kill(readout, SIGSTOP) == 0);
  REQUIRE(wait_until([&] { return run.pid_of("writer-0") == 0; }, Seconds(30)));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  REQUIRE(wait_until([&] { return run.log("supervisor").find("run resumed") != std::string::npos; },
                     Seconds(20)));
  REQUIRE(run.send_signal("readout-1", SIGCONT));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(StoredRun(folder / "out").ids().size() == end.summary.count("stored"));
  CHECK(exits(end.summary, "supervisor", -9) == 1);
  CHECK(exits(end.summary, "supervisor", 0) == 1);
}

TEST_CASE("a supervisor, a DCM and the writer that are killed together all return to the same run") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  for (const char* name : {"writer-0", "supervisor", "dcm-1"}) REQUIRE(run.send_signal(name, SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
}

TEST_CASE("without a journal a supervisor's death ends the run, and nothing is left behind") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"supervisor.journal=false"}));
  REQUIRE(run.wait_for_data(300'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK(end.status == 1);
  check_nothing_left(folder);
}

TEST_CASE("a slice that kills its filter every time is stored unfiltered as poison") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/stumbles.so",
                             "filter.parameters.dies_at=700", "filter.parameters.two_steps=true"}));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_stored_once(folder, end);
  std::vector<std::uint64_t> poison;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    if (slice.head().decision != storage::DecisionKind::poison) return;
    poison.push_back(slice.head().slice.value);
    for (std::uint32_t i = 0; i < slice.fragment_count(); ++i)
      CHECK(slice.fragment(i).record.status == FragmentStatus::ok);  // of the second step, too
  });
  CHECK(poison == std::vector<std::uint64_t>{700});  // but none of the other slices in that DCM
  CHECK(exits(end.summary, "dcm-0", -9) + exits(end.summary, "dcm-1", -9) == 2);
}

TEST_CASE("a slice that kills its filter in a farm with one DCM is poison, and all others are filtered") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({std::string("filter.plugin=") + WEIR_SYSTEM_PLUGIN_DIR + "/stumbles.so",
                             "filter.parameters.dies_every=1000", "dcm.count=1", "dcm.credits=64",
                             "dcm.processing_units=2", "run.restarts_max=10"}));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_stored_once(folder, end);
  std::vector<std::uint64_t> poison;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    if (slice.head().decision == storage::DecisionKind::poison) poison.push_back(slice.head().slice.value);
  });
  std::sort(poison.begin(), poison.end());
  CHECK(poison == std::vector<std::uint64_t>{0, 1000, 2000});
  CHECK(exits(end.summary, "dcm-0", -9) == 6);
}

TEST_CASE("a killed readout costs its own fragments, each marked missing") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"dcm.grace_ms=300"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("readout-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  const DummyCheck check = check_stored_once(folder, end);
  CHECK(check.fragments + check.missing == kSlices * kSources);
  CHECK(end.summary.count_all("fragments.missing") == check.missing);
  CHECK(end.summary.json().at("sources").at("rows").at(0).at("readout") == "readout-0");
  CHECK(end.summary.json().at("sources").at("incomplete") == boost::json::array{"readout-0"});
  // Back again: the end of the run is complete.
  std::uint64_t last_missing = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    if ((slice.head().flags & storage::slice_flag::incomplete) != 0) last_missing = slice.head().slice.value;
  });
  CHECK(last_missing < kSlices - 1);
}

TEST_CASE("the sources of a readout that stays away are missing immediately after the grace time") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"run.restart=never", "dcm.grace_ms=300"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("readout-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  const DummyCheck check = check_stored_once(folder, end);
  CHECK(check.fragments + check.missing == kSlices * kSources);
  CHECK(end.summary.count("fragments.missing.source_down") > 1000);
}

TEST_CASE("a writer that is killed is started again and every slice is stored once") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(2'000'000));
  REQUIRE(run.send_signal("writer-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
}

// Far more slices wait for the disk than are in assembly, and the interval comes seldom.
TEST_CASE("a DCM and its writer that are killed at full speed lose none of many unacknowledged slices") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({"trigger.mode=max", "writer.sync_interval_ms=2000", "dcm.count=1",
                             "dcm.credits=16", "dcm.slices_max=16"}));
  REQUIRE(run.wait_for_data(1'000'000));
  REQUIRE(run.send_signal("writer-0", SIGKILL));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
}

TEST_CASE("the other writer takes over from a dead one") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"writer.count=2", "run.restart=never"}));
  REQUIRE(run.wait_for_data(2'000'000));
  REQUIRE(run.send_signal("writer-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
}

TEST_CASE("the death of the supervisor ends the run with that reason and leaves no process") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"run.restart=never"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("supervisor", SIGKILL));
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK(end.status == 1);
  CHECK_THAT(end.err, Catch::ContainsSubstring("supervisor ended with signal 9"));
  check_nothing_left(folder);
  // The slices stored by then are intact.
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("a request to stop drains the run and ends it well") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  CAPTURE(signal);
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  run.process().send_signal(signal);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(end.summary.count("stored") < kSlices);
  CHECK(end.summary.text("reason") == (signal == SIGINT ? "SIGINT" : "SIGTERM"));
  check_nothing_left(folder);
  const StoredRun stored(folder / "out");
  CHECK(stored.problems() == "");
  CHECK(stored.ids().size() == end.summary.count("stored"));
}

TEST_CASE(
    "a run continues while its run control is restarted, which leads dead processes back and ends the run on "
    "request") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(300'000));
  REQUIRE(run.send_signal("run-control", SIGKILL));
  REQUIRE(wait_until([&] { return run.process().out().find("the run continues") != std::string::npos; },
                     Seconds(20)));
  REQUIRE(run.send_signal("dcm-0", SIGKILL));
  REQUIRE(wait_until([&] { return run.process().out().find("restarting (1 of") != std::string::npos; },
                     Seconds(20)));
  REQUIRE(wait_until([&] { return run.pid_of("dcm-0") != 0; }, Seconds(20)));
  REQUIRE(run.wait_for_data(1'000'000));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(end.summary.text("reason") == "SIGINT");
  CHECK(exits(end.summary, "run-control", -9) == 1);
  CHECK(exits(end.summary, "run-control", 0) == 1);
  CHECK(exits(end.summary, "dcm-0", -9) == 1);
  CHECK(exits(end.summary, "dcm-0", 0) == 1);
  CHECK_THAT(end.out,
             Catch::ContainsSubstring("run control ended with signal 9 (Killed): the run continues"));
  check_nothing_left(folder);
}

TEST_CASE("a run with a frozen run control ends on request") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(300'000));
  REQUIRE(run.send_signal("run-control", SIGSTOP));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("run control does not answer: killing it"));
  CHECK(exits(end.summary, "run-control", -9) == 1);
  check_nothing_left(folder);
}

TEST_CASE("no process is left when weir run itself is killed") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.processes() == 8);
  run.process().send_signal(SIGKILL);
  REQUIRE(run.process().wait(Seconds(10)) == -SIGKILL);
  check_nothing_left(folder);
  CHECK(check_dummy_data(StoredRun(folder / "out")).wrong == "");
}

TEST_CASE("fragments of a readout that freezes beyond the deadline are missing, and late when they arrive") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds({"dcm.deadline_ms=200"}));
  REQUIRE(run.wait_for_data(500'000));
  const pid_t readout = run.pid_of("readout-0");
  REQUIRE(readout != 0);
  REQUIRE(::kill(readout, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, Seconds(1));
  REQUIRE(::kill(readout, SIGCONT) == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);  // a third of its fragments
  const DummyCheck check = check_stored_once(folder, end);
  CHECK(check.fragments + check.missing == kSlices * kSources);
  CHECK(end.summary.count("fragments.missing.deadline") > 100);
  CHECK(end.summary.count("fragments.missing.deadline") == check.missing);
  CHECK(end.summary.count("stored_incomplete") > 0);
  CHECK(end.summary.count("fragments.late") > 0);
}

TEST_CASE("incomplete slices bypass the filter if the farm file says so") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({"run.restart=never", "dcm.grace_ms=100", "dcm.incomplete=debug"}));
  REQUIRE(run.wait_for_data(500'000));
  REQUIRE(run.send_signal("readout-1", SIGKILL));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_stored_once(folder, end);
  std::uint64_t debug = 0;
  std::uint64_t wrong = 0;
  StoredRun(folder / "out").for_each_slice([&](const storage::SliceRecordView& slice) {
    const bool incomplete = (slice.head().flags & storage::slice_flag::incomplete) != 0;
    const bool bypassed = slice.head().decision == storage::DecisionKind::incomplete;
    debug += bypassed ? 1 : 0;
    if (incomplete != bypassed) ++wrong;
  });
  CHECK(debug > 500);
  CHECK(debug == end.summary.count("stored_incomplete"));
  CHECK(wrong == 0);
}

TEST_CASE("the slices of a DCM that freezes beyond its lease go to another and are stored once") {
  const TemporaryFolder folder;
  FarmRun run(
      folder, farm(),
      three_seconds({"supervisor.lease_ms=300", "dcm.deadline_ms=300", "filter.step_deadline_ms=200"}));
  REQUIRE(run.wait_for_data(500'000));
  const pid_t dcm = run.pid_of("dcm-0");
  REQUIRE(dcm != 0);
  REQUIRE(::kill(dcm, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, Seconds(1.2));
  REQUIRE(::kill(dcm, SIGCONT) == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  check_stored_once(folder, end);
}

TEST_CASE("a process that freezes for good holds up no run: others take over its work") {
  const std::string name = GENERATE("dcm-0", "writer-0");
  CAPTURE(name);
  const TemporaryFolder folder;
  FarmRun run(folder, farm(),
              three_seconds({"supervisor.lease_ms=300", "dcm.deadline_ms=300", "writer.count=2"}));
  REQUIRE(run.wait_for_data(500'000));
  const pid_t process = run.pid_of(name);
  REQUIRE(process != 0);
  REQUIRE(::kill(process, SIGSTOP) == 0);
  REQUIRE(run.wait_for_log("supervisor", "left name=" + name + " reason=\"silent for 1 s\""));
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count_all("discarded") == 0);
  CHECK(exits(end.summary, name, -9) == 1);
  check_nothing_left(folder);
}

TEST_CASE("a writer that freezes for a while holds the run up and loses nothing") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), three_seconds());
  REQUIRE(run.wait_for_data(500'000));
  const pid_t writer = run.pid_of("writer-0");
  REQUIRE(writer != 0);
  REQUIRE(::kill(writer, SIGSTOP) == 0);
  (void)wait_until([] { return false; }, Seconds(1));
  REQUIRE(::kill(writer, SIGCONT) == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(check_stored_once(folder, end).fragments == kSlices * kSources);
}

TEST_CASE("a second request to stop ends the run immediately") {
  const TemporaryFolder folder;
  // The filters manage 100 slices a second; thousands wait.
  FarmRun run(folder, farm(),
              sets({"readout.count=2", "filter.plugin=busy", "filter.parameters.microseconds=20000",
                    "writer.sync_interval_ms=10"}));
  REQUIRE(run.wait_for_data(20'000));
  run.process().send_signal(SIGINT);
  REQUIRE(wait_until([&] { return run.process().out().find("Ctrl-C again kills") != std::string::npos; },
                     Seconds(10)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish(Seconds(10));
  CHECK(end.status == 1);
  CHECK_THAT(end.err, Catch::ContainsSubstring("killed by the second SIGINT"));
  check_nothing_left(folder);
}

TEST_CASE("a readout that is silent for long is left aside, and the others' fragments still arrive") {
  const TemporaryFolder folder;
  // Fragments that fill a window: requests to the silent readout must not hold back the others.
  FarmRun run(folder, farm(),
              three_seconds({"dcm.deadline_ms=200", "dcm.grace_ms=300", "source.size_bytes=20000",
                             "dcm.shaper=byte-credits", "dcm.window_bytes=1000000", "readout.count=4"}));
  REQUIRE(run.wait_for_data(500'000));
  const pid_t readout = run.pid_of("readout-0");
  REQUIRE(readout != 0);
  REQUIRE(::kill(readout, SIGSTOP) == 0);
  REQUIRE(run.wait_for_log("dcm-0", "readout lost name=readout-0 reason=\"silent\""));
  const std::uint64_t before = run.data_bytes();
  CHECK(wait_until([&] { return run.data_bytes() > before + 10'000'000; }, Seconds(20)));
  REQUIRE(::kill(readout, SIGCONT) == 0);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == kSlices);
  CHECK(end.summary.count_all("fragments.missing") > 0);
}
