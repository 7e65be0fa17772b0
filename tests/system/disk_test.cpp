#include "farm_run.hpp"
#include "small_disk.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

namespace {

using namespace weir;
using namespace weir::system_test;
using test::kMebi;
using test::SmallDisk;

// 2 MB a second.
std::vector<std::string> settings(const std::vector<std::string>& more) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=250",
                                       "supervisor.status_interval_ms=100", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  return sets(assignments);
}

}  // namespace

TEST_CASE("a full disk holds the run up, and when there is room again everything is stored") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 40);
  if (!disk.mounted()) return;
  disk.fill(37);
  FarmRun run(folder, config_file("event-building.yaml"), settings({"supervisor.in_flight_max=300"}));
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
  REQUIRE(watcher.wait_for_state("supervisor", "throttled: WRITER_DISK_FULL writer-0", Seconds(30)));
  REQUIRE(watcher.wait_for_counter("supervisor", "vetoed.throttled", 10, Seconds(30)));
  disk.make_room();
  REQUIRE(run.wait_for_log("writer-0", "resumed"));
  REQUIRE(run.wait_for_data(6 * kMebi));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 0);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(end.summary.count_all("discarded") == 0);
  const StoredRun stored(folder / "out");
  CHECK(stored.problems() == "");
  CHECK(stored.ids().size() == end.summary.count("stored"));
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("a writer that dies on a full disk waits for room when it is back, and everything is stored") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 40);
  if (!disk.mounted()) return;
  disk.fill(37);
  FarmRun run(folder, config_file("event-building.yaml"), settings({"supervisor.in_flight_max=300"}));
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
  disk.fill_up();
  for (int i = 0; i < 2; ++i) {
    const pid_t killed = run.pid_of("writer-0");
    REQUIRE(run.send_signal("writer-0", SIGKILL));
    const auto is_back = [&] { return run.pid_of("writer-0") != 0 && run.pid_of("writer-0") != killed; };
    REQUIRE(wait_until(is_back, Seconds(20)));
    REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
  }
  std::this_thread::sleep_for(std::chrono::seconds(8));
  disk.make_room();
  REQUIRE(run.wait_for_data(6 * kMebi));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  CHECK(end.summary.count_all("discarded") == 0);
  const StoredRun stored(folder / "out");
  CHECK(stored.ids().size() == end.summary.count("stored"));
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("a restarted supervisor without room for its journal waits, and continues") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 40);
  if (!disk.mounted()) return;
  disk.fill(37);
  FarmRun run(folder, config_file("event-building.yaml"), settings({"supervisor.in_flight_max=300"}));
  {
    FarmWatcher watcher(run.port_of("supervisor"), "event-building");
    REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
    disk.fill_up();
  }
  for (int i = 0; i < 2; ++i) {
    const pid_t killed = run.pid_of("supervisor");
    REQUIRE(run.send_signal("supervisor", SIGKILL));
    const auto is_back = [&] { return run.pid_of("supervisor") != 0 && run.pid_of("supervisor") != killed; };
    REQUIRE(wait_until(is_back, Seconds(20)));
    REQUIRE(run.wait_for_log("supervisor", "journal waiting"));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    CHECK(run.pid_of("supervisor") != 0);
  }
  disk.make_room();
  REQUIRE(run.wait_for_data(6 * kMebi));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  CHECK_BALANCED(end, 3);
  CHECK(end.summary.count("stored") == end.summary.count("triggered"));
  const StoredRun stored(folder / "out");
  CHECK(stored.ids().size() == end.summary.count("stored"));
  CHECK(check_dummy_data(stored).wrong == "");
}

TEST_CASE("a disk that stays full ends the run with that reason and the ledger adds up") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 8);
  if (!disk.mounted()) return;
  disk.fill(5);
  FarmRun run(folder, config_file("event-building.yaml"),
              settings({"supervisor.in_flight_max=300", "run.drain_timeout_s=1"}));
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  REQUIRE(watcher.wait_for_state("writer-0", "blocked: WRITER_DISK_FULL writer-0", Seconds(30)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish(Seconds(25));  // no patience but the farm file's
  INFO(describe(end));
  // The journal's place is enough for the run's record.
  CHECK(end.status == 3);
  CHECK(std::filesystem::exists(run.out() + "/run-000001-end.json"));
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.count("discarded.drain_timeout") > 0);
  CHECK(end.summary.count("triggered") ==
        end.summary.count("stored") + end.summary.count("discarded.drain_timeout"));
  CHECK_THAT(end.out, Catch::ContainsSubstring("stays a .part") && Catch::ContainsSubstring("No space left"));
  // Confirmed data is on the disk.
  const StoredRun stored(folder / "out");
  CHECK(check_dummy_data(stored).wrong == "");
  CHECK(stored.ids().size() >= end.summary.count("stored"));
  CHECK(processes_naming(folder.path().string()).empty());
}
