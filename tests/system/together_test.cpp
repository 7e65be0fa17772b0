// Several runs in one folder: each has its own number, its own data, its own journal.
#include "farm_run.hpp"
#include "stored_run.hpp"
#include "weir_catch.hpp"

#include <csignal>
#include <filesystem>
#include <memory>
#include <set>

namespace {

using namespace weir;
using namespace weir::system_test;
namespace fs = std::filesystem;

constexpr std::uint64_t kSlices = 400;

std::string farm() { return config_file("event-building.yaml"); }

std::vector<std::string> short_run(const std::vector<std::string>& more = {}) {
  std::vector<std::string> assignments{"trigger.mode=rate", "trigger.rate_hz=400", "readout.count=2"};
  assignments.insert(assignments.end(), more.begin(), more.end());
  std::vector<std::string> arguments = sets(assignments);
  arguments.insert(arguments.end(), {"--slices", std::to_string(kSlices)});
  return arguments;
}

std::string supervisor_of(const std::string& out) { return out + "/run-000001-supervisor.journal"; }

// A supervisor of run 1 in this folder without run control, to its end.
CommandEnd supervisor_alone(const TemporaryFolder& folder, const std::string& out) {
  std::vector<std::string> arguments{"--farm", farm(), "--name", "supervisor", "--alone"};
  const std::vector<std::string> more =
      sets({"run.out=" + out, "supervisor.listen=127.0.0.1:0", "run.number=1", "readout.count=2"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(folder, "weir-supervisor", arguments);
}

}  // namespace

TEST_CASE("two runs started together in one folder get two numbers, and each stores its own slices") {
  for (int round = 0; round < 3; ++round) {
    const TemporaryFolder shared;
    const TemporaryFolder folders[2];
    std::vector<std::unique_ptr<FarmRun>> runs;
    for (const TemporaryFolder& folder : folders)
      runs.push_back(std::make_unique<FarmRun>(folder, farm(), short_run(), shared / "out"));
    std::set<std::uint64_t> numbers;
    for (const auto& run : runs) {
      const FarmEnd end = run->finish();
      CHECK_BALANCED(end, 0);
      CHECK(end.summary.count("stored") == kSlices);
      const std::uint64_t number = end.summary.count("run");
      numbers.insert(number);
      const std::string name = "/run-00000" + std::to_string(number) + "-";
      for (const std::string& path : end.summary.files()) CHECK(path.find(name) != std::string::npos);
    }
    CHECK(numbers == std::set<std::uint64_t>{1, 2});
    // On disk, each run's file has all of its slices, and none occurs twice.
    const StoredRun stored(shared / "out");
    CHECK(stored.problems() == "");
    std::set<std::pair<std::uint32_t, std::uint64_t>> slices;
    for (const storage::RunFileReader& file : stored.files()) {
      for (const storage::IndexEntry& entry : file.entries()) {
        if (!entry.dead) slices.insert({file.header().run.value, entry.slice.value});
      }
    }
    CHECK(slices.size() == 2 * kSlices);
  }
}

TEST_CASE("a supervisor does not resume the journal of another run of its number, and reports it") {
  const TemporaryFolder folder;
  FarmRun run(folder, farm(), short_run({"trigger.rate_hz=100"}));
  REQUIRE(run.wait_for_data(20'000));
  const std::string other = folder / "other";
  fs::create_directories(other);
  fs::copy_file(supervisor_of(run.out()), supervisor_of(other));
  const CommandEnd refused = supervisor_alone(folder, other);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err,
             Catch::ContainsSubstring("the journal is of another run 1 of farm 'event-building'") &&
                 Catch::ContainsSubstring("choose another run number"));
  CHECK(fs::exists(supervisor_of(other)));  // its farm may still need it
  run.process().send_signal(SIGINT);
  CHECK_BALANCED(run.finish(), 0);
}

TEST_CASE("a run number that is over is not begun a second time without run control either") {
  const TemporaryFolder folder;
  const FarmEnd end = run_farm(folder, farm(), short_run());
  CHECK_BALANCED(end, 0);
  const CommandEnd refused = supervisor_alone(folder, folder / "out");
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Catch::ContainsSubstring("already holds run 1") &&
                              Catch::ContainsSubstring("set run.number to another"));
}
