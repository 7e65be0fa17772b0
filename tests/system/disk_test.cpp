#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"
#include "wire_client.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sys/mount.h>

namespace {

using namespace weir;
using namespace weir::system_test;

constexpr std::size_t kMebi = std::size_t{1} << 20;

// A folder of limited size; needs the right to mount.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, std::size_t mebibytes) : path_(path) {
    std::filesystem::create_directory(path);
    const std::string size = "size=" + std::to_string(mebibytes) + "m";
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, size.c_str()) == 0;
    if (!mounted_) WARN("skipped: a small disk cannot be mounted here: " << std::strerror(errno));
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  void fill(std::size_t mebibytes) const {
    std::ofstream file(path_ + "/filler", std::ios::binary);
    const std::string block(kMebi, 'x');
    for (std::size_t i = 0; i < mebibytes; ++i) file << block;
  }
  void make_room() const { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

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
  REQUIRE(watcher.wait_for_state("writer-0", "no_space", Seconds(30)));
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

TEST_CASE("a disk that stays full ends the run with that reason and the ledger adds up") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "out", 8);
  if (!disk.mounted()) return;
  disk.fill(5);
  FarmRun run(folder, config_file("event-building.yaml"),
              settings({"supervisor.in_flight_max=300", "run.drain_timeout_s=1"}));
  FarmWatcher watcher(run.port_of("supervisor"), "event-building");
  REQUIRE(watcher.wait_for_state("writer-0", "no_space", Seconds(30)));
  run.process().send_signal(SIGINT);
  const FarmEnd end = run.finish();
  INFO(describe(end));
  CHECK(end.status != 0);
  CHECK(end.summary.imbalance() == "");
  CHECK(end.summary.count("discarded.drain_timeout") > 0);
  CHECK(end.summary.count("triggered") ==
        end.summary.count("stored") + end.summary.count("discarded.drain_timeout"));
  CHECK_THAT(end.out + end.err, Catch::ContainsSubstring("no_space") || Catch::ContainsSubstring("No space"));
  // What counts as stored is on the disk.
  const StoredRun stored(folder / "out");
  CHECK(check_dummy_data(stored).wrong == "");
  CHECK(stored.ids().size() >= end.summary.count("stored"));
  CHECK(processes_naming(folder.path().string()).empty());
}
